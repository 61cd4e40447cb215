package telegram

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/internal/markup"
)

// usernames matches the texts that Telegram reads as mentions
// (https://github.com/tdlib/td/blob/master/td/telegram/MessageEntity.cpp, match_mentions).
var usernames = regexp.MustCompile(`@[A-Za-z0-9_]{2,}`)

// wordJoiner is an invisible character. If a wordJoiner follows the @ of a mention, Telegram treats the mention as
// plain text.
const wordJoiner = "\u2060"

// mentions returns the start and end of each mention in a text, in bytes.
func mentions(text string) [][]int {
	if !strings.Contains(text, "@") {
		return nil
	}
	return slices.DeleteFunc(usernames.FindAllStringIndex(text, -1), func(m []int) bool {
		before, _ := utf8.DecodeLastRuneInString(text[:m[0]])
		return m[0] > 0 && (before == '@' || before == '/' || before == '_' ||
			before >= '0' && before <= '9' || before >= 'A' && before <= 'Z' || before >= 'a' && before <= 'z')
	})
}

// silenceMentions formats mentions as code, because Telegram notifies nobody of a mention in code. silenceMentions does
// not change the text itself. silenceMentions skips mentions inside code and links (solid), and mentions inside URLs
// that Telegram turns into links by itself (linked).
func silenceMentions(text string, solid, linked []byteSpan) []byteSpan {
	for _, m := range mentions(text) {
		e := byteSpan{kind: kindCode, start: m[0], end: m[1], quiet: true}
		if startsWithin(linked, e) || startsWithin(solid, e) {
			continue
		}
		for _, s := range solid {
			if s.start > e.start && s.start < e.end {
				e.end = s.start
			}
		}
		solid = append(solid, e)
	}
	sortByStart(solid)
	return solid
}

func sortByStart(list []byteSpan) {
	slices.SortStableFunc(list, func(a, b byteSpan) int { return cmp.Or(a.start-b.start, b.end-a.end) })
}

// startsWithin reports whether the span e begins inside one of the spans in others, not counting quotes.
func startsWithin(others []byteSpan, e byteSpan) bool {
	return slices.ContainsFunc(others, func(o byteSpan) bool {
		return o.kind != kindQuote && o.start <= e.start && o.end > e.start
	})
}

// breakSurplus prevents notifications by surplus mentions, because a message can have only maxEntities entities that
// silence mentions. breakSurplus puts a word joiner into each mention after the first maxEntities mentions, and shifts
// the formats accordingly.
func breakSurplus(text string, formats []markup.Format) string {
	all := mentions(text)
	if len(all) <= maxEntities {
		return text
	}
	for _, m := range slices.Backward(all[maxEntities:]) {
		at := m[0] + len("@")
		text = text[:at] + wordJoiner + text[at:]
		for i := range formats {
			if formats[i].Start >= at {
				formats[i].Start += len(wordJoiner)
			}
			if formats[i].End >= at {
				formats[i].End += len(wordJoiner)
			}
		}
	}
	return text
}
