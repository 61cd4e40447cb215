package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxText is the longest text of a message in UTF-16 units.
	maxText = 4096
	// maxSource is the longest text in bytes before parsing.
	maxSource = 32768
	// maxEntities is the most a message keeps; community knowledge.
	maxEntities = 100
	// maxOffset bounds offsets and lengths before the text is looked at.
	maxOffset = 1_000_000
)

// Ranks of entities; see entityRank.
const (
	rankUnknown = iota
	rankQuote
	rankPre
	rankCode
	rankData     // carries an address, a person or a time.
	rankDetected // found by the platform itself, never taken from a client.
	rankBold
	rankItalic
	rankUnderline
	rankStrike
	rankSpoiler
	rankEmoji
)

// entityRank orders entities of the same range, outermost first.
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

// splittable entities may overlap others; where they cross, they are cut.
func splittable(kind string) bool {
	rank := entityRank(kind)
	return rank >= rankBold && rank <= rankSpoiler
}

func quote(kind string) bool { return entityRank(kind) == rankQuote }

func codeLike(kind string) bool { return kind == "code" || kind == "pre" }

// hiddenData entities carry more than a look, so white space in them counts.
func hiddenData(kind string) bool {
	rank := entityRank(kind)
	return rank == rankData || rank == rankEmoji
}

func sortEntities(list []Entity) {
	slices.SortStableFunc(list, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length),
			cmp.Compare(entityRank(a.Type), entityRank(b.Type)))
	})
}

// check looks at what does not depend on the text.
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

// keepFields drops the fields that the entity's type does not have.
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

// validLink accepts what the platform takes as the address of a text_link: a
// URL of its schemes, or a host with a dot.
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

// formatted is a text with its entities, as the platform would show it.
type formatted struct {
	text     string
	entities []Entity
}

// fixText cleans a text, checks its entities against it, trims both and brings
// the entities into the platform's normal form. The text of the result is empty
// when nothing visible is left.
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
	units := clean(text, kept)
	units, kept = trimText(units, settle(units, kept))
	kept = settle(units, kept)
	result := string(utf16.Decode(units))
	if invisible(result) {
		return formatted{}
	}
	return formatted{text: result, entities: kept}
}

// settle trims and normalizes until nothing changes: each may make work for the
// other, as a piece that is cut off may be white space. It ends, as entities only
// ever get shorter, fewer, or joined.
func settle(units []uint16, entities []Entity) []Entity {
	for {
		before := slices.Clone(entities)
		if entities = normalize(trimEntities(units, entities)); equalEntities(before, entities) {
			return entities
		}
	}
}

// clean replaces control characters and moves the entities along; it refuses
// entities that do not fit the text.
func clean(text string, entities []Entity) []uint16 {
	out := make([]uint16, 0, len(text))
	moved := make([]int, 0, len(text)+1) // new offset by old offset; -1 within a pair.
	afterPair := make(map[int]int)       // byte offset behind a pair, by the old offset within.
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

func blank(u uint16) bool { return u == ' ' || u == '\n' }

// trimEntities lets no entity begin with white space and drops those that are
// nothing else.
func trimEntities(units []uint16, entities []Entity) []Entity {
	kept := entities[:0]
	for _, e := range entities {
		if !hiddenData(e.Type) {
			for e.Length > 0 && blank(units[e.Offset]) {
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

// trimText cuts white space at the end, and at the start up to the first entity.
func trimText(units []uint16, entities []Entity) ([]uint16, []Entity) {
	end := len(units)
	for end > 0 && blank(units[end-1]) {
		end--
	}
	start, limit := 0, end
	if len(entities) > 0 {
		limit = min(limit, entities[0].Offset)
	}
	for start < limit && blank(units[start]) {
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

// invisible tells whether a text shows nothing: white space and characters of
// no width only.
func invisible(text string) bool {
	return strings.Trim(text, " \n\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"+
		"\u200b\u200c\u200d\u200e\u200f\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc") == ""
}

// textLength is the length of a text in UTF-16 units.
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
