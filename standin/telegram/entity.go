package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxText is the maximum length of a message in UTF-16 units.
	maxText = 4096
	// maxSource is the maximum length of a text in bytes before parsing.
	maxSource = 32768
	// maxEntities is the maximum number of entities that Telegram keeps in a message. Users of the Bot API observed this
	// maximum.
	maxEntities = 100
	// maxOffset is the maximum of an entity's offset or length, independent of the length of the text.
	maxOffset = 1_000_000
)

// Ranks of entities; see entityRank.
const (
	rankUnknown = iota
	rankQuote
	rankPre
	rankCode
	rankData     // entities with a URL, a user or a time
	rankDetected // entities that only Telegram itself creates, such as hashtags
	rankBold
	rankItalic
	rankUnderline
	rankStrike
	rankSpoiler
	rankEmoji
)

// entityRank returns the rank of a kind of entity. If several entities have the same range, the one with the smallest
// rank comes first and is the outermost.
func entityRank(kind string) int {
	switch kind {
	case "blockquote", "expandable_blockquote":
		return rankQuote
	case "pre":
		return rankPre
	case "code":
		return rankCode
	case "text_link", "text_mention", "date_time":
		return rankData
	case "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number":
		return rankDetected
	case "bold":
		return rankBold
	case "italic":
		return rankItalic
	case "underline":
		return rankUnderline
	case "strikethrough":
		return rankStrike
	case "spoiler":
		return rankSpoiler
	case "custom_emoji":
		return rankEmoji
	}
	return rankUnknown
}

// isSplittable reports whether entities of a kind may overlap others. Telegram splits such an entity where it crosses
// another one.
func isSplittable(kind string) bool {
	rank := entityRank(kind)
	return rank >= rankBold && rank <= rankSpoiler
}

func isQuote(kind string) bool { return entityRank(kind) == rankQuote }

func isCode(kind string) bool { return kind == "code" || kind == "pre" }

// hasHiddenData reports whether entities of a kind contain data besides their text. Telegram does not trim white space
// at the edges of such entities.
func hasHiddenData(kind string) bool {
	rank := entityRank(kind)
	return rank == rankData || rank == rankEmoji
}

func sortEntities(list []Entity) {
	slices.SortStableFunc(list, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length),
			cmp.Compare(entityRank(a.Type), entityRank(b.Type)))
	})
}

// check refuses the call if an entity is invalid for every text.
func (e Entity) check() {
	missing := func(absent bool, field string) {
		badRequestIf(absent, `can't parse MessageEntity: Can't find field "%s"`, field)
	}
	badRequestIf(e.Type == "", "can't parse MessageEntity: Type is not specified")
	badRequestIf(entityRank(e.Type) == rankUnknown, "can't parse MessageEntity: Unsupported type specified")
	badRequestIf(e.Offset < 0 || e.Offset > maxOffset, "receive an entity with incorrect offset %d", e.Offset)
	badRequestIf(e.Length < 0 || e.Length > maxOffset, "receive an entity with incorrect length %d", e.Length)
	missing(e.Type == "text_link" && e.URL == "", "url")
	badRequestIf(e.Type == "text_link" && !validLink(e.URL), "entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
	missing(e.Type == "text_mention" && e.User == nil, "user")
	missing(e.Type == "custom_emoji" && e.CustomEmojiID == "", "custom_emoji_id")
}

// keepFields returns the entity with only the fields that its type has.
func keepFields(e Entity) Entity {
	k := Entity{Type: e.Type, Offset: e.Offset, Length: e.Length}
	switch e.Type {
	case "text_link":
		k.URL = e.URL
	case "text_mention":
		k.User = e.User
	case "pre":
		k.Language = e.Language
	case "custom_emoji":
		k.CustomEmojiID = e.CustomEmojiID
	case "date_time":
		k.UnixTime, k.DateTimeFormat = e.UnixTime, e.DateTimeFormat
	}
	return k
}

// validLink reports whether Telegram accepts the URL of a text_link. Telegram accepts URLs with certain schemes, and
// hosts with a dot.
func validLink(link string) bool {
	scheme, rest, found := strings.Cut(link, "://")
	switch {
	case !found && strings.HasPrefix(strings.ToLower(link), "tg:"):
		return len(link) > 3
	case !found:
		rest = link
	case strings.EqualFold(scheme, "tg"), strings.EqualFold(scheme, "ton"), strings.EqualFold(scheme, "tonsite"):
		return rest != ""
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if strings.HasPrefix(host, "[") && strings.Contains(host, "]") {
		return true
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.Contains(strings.Trim(host, "."), ".") && !strings.ContainsAny(host, " \n\t<>\"'`{}|\\^%")
}

// formatted is a text with its entities in the form in which Telegram shows them.
type formatted struct {
	text     string
	entities []Entity
}

// fixText cleans a text and validates its entities. fixText trims white space at the ends of the text and of the
// entities, and normalizes the entities. If no visible character is left, the text of the result is empty.
func fixText(text string, entities []Entity) formatted {
	badRequestIf(!utf8.ValidString(text), "strings must be encoded in UTF-8")
	kept := make([]Entity, 0, len(entities))
	for _, e := range entities {
		e.check()
		if e.Length > 0 && entityRank(e.Type) != rankDetected {
			kept = append(kept, keepFields(e))
		}
	}
	sortEntities(kept)
	units := cleanText(text, kept)
	units, kept = trimText(units, normalizeFully(units, kept))
	kept = normalizeFully(units, kept)
	result := string(utf16.Decode(units))
	if isInvisible(result) {
		return formatted{}
	}
	return formatted{text: result, entities: kept}
}

// normalizeFully trims and normalizes entities until nothing changes. normalizeFully may need several passes: normalize
// splits entities, and a piece may begin with white space that must be trimmed. The loop in normalizeFully ends,
// because each pass makes entities shorter or fewer.
func normalizeFully(units []uint16, entities []Entity) []Entity {
	for {
		before := slices.Clone(entities)
		if entities = normalize(trimEntities(units, entities)); equalEntities(before, entities) {
			return entities
		}
	}
}

// cleanText replaces control characters and adapts the offsets of the entities. cleanText refuses the call if an entity
// ends after the text.
func cleanText(text string, entities []Entity) []uint16 {
	out := make([]uint16, 0, len(text))
	moved := make([]int, 0, len(text)+1) // the new offset for each old offset; -1 inside a surrogate pair
	afterPair := make(map[int]int)       // the byte offset after a surrogate pair, for the old offset inside the pair
	for i, r := range text {
		moved = append(moved, len(out))
		if r > 0xFFFF {
			afterPair[len(moved)] = i + 4
			moved = append(moved, -1)
		}
		switch {
		case r == '\r', r >= 0x2028 && r <= 0x202E, r == 0x0333, r == 0x033F, r == 0x030A:
		case r < ' ' && r != '\n':
			out = append(out, ' ')
		default:
			out = utf16.AppendRune(out, r)
		}
	}
	moved = append(moved, len(out))
	last := len(moved) - 1
	for i := range entities {
		e := &entities[i]
		badRequestIf(e.Offset > last, "entity begins after the end of the text at UTF-16 offset %d", e.Offset)
		badRequestIf(e.end() > last, "entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d",
			e.Offset, e.end())
		badRequestIf(moved[e.Offset] < 0, "entity begins in a middle of a UTF-16 symbol at byte offset %d", afterPair[e.Offset])
		badRequestIf(moved[e.end()] < 0, "entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at byte offset %d",
			e.Offset, afterPair[e.end()])
		e.Offset, e.Length = moved[e.Offset], moved[e.end()]-moved[e.Offset]
	}
	return out
}

func isBlank(u uint16) bool { return u == ' ' || u == '\n' }

// trimEntities removes white space from the start of entities, and drops entities that contain only white space.
func trimEntities(units []uint16, entities []Entity) []Entity {
	kept := entities[:0]
	for _, e := range entities {
		if !hasHiddenData(e.Type) {
			for e.Length > 0 && isBlank(units[e.Offset]) {
				e.Offset++
				e.Length--
			}
		}
		if e.Length > 0 {
			kept = append(kept, e)
		}
	}
	sortEntities(kept)
	return kept
}

// trimText removes white space at the end of a text. At the start of the text, trimText removes white space up to the
// first entity.
func trimText(units []uint16, entities []Entity) ([]uint16, []Entity) {
	end := len(units)
	for end > 0 && isBlank(units[end-1]) {
		end--
	}
	start, limit := 0, end
	if len(entities) > 0 {
		limit = min(limit, entities[0].Offset)
	}
	for start < limit && isBlank(units[start]) {
		start++
	}
	kept := entities[:0]
	for _, e := range entities {
		e.Length = min(e.end(), end) - e.Offset
		e.Offset -= start
		if e.Length > 0 {
			kept = append(kept, e)
		}
	}
	sortEntities(kept)
	return units[start:end], kept
}

// isInvisible reports whether a text contains only white space and zero-width characters.
func isInvisible(text string) bool {
	return strings.Trim(text, " \n\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"+
		"\u200b\u200c\u200d\u200e\u200f\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc") == ""
}

// textLength returns the length of a text in UTF-16 units.
func textLength(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

func equalEntities(a, b []Entity) bool {
	return slices.EqualFunc(a, b, func(x, y Entity) bool {
		if (x.User == nil) != (y.User == nil) || (x.User != nil && x.User.ID != y.User.ID) {
			return false
		}
		x.User, y.User = nil, nil
		return x == y
	})
}

func mergeEntities(given, detected []Entity) []Entity {
	if len(detected) == 0 {
		return given
	}
	all := slices.Concat(given, detected)
	sortEntities(all)
	return all
}
