package telegram

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/internal/markup"
)

// usernames are what Telegram reads as mentions in a text
// (https://github.com/tdlib/td/blob/master/td/telegram/MessageEntity.cpp, match_mentions).
var usernames = regexp.MustCompile(`@[A-Za-z0-9_]{2,}`)

// wordJoiner shows nothing; behind the sign of a mention it makes it plain text.
const wordJoiner = "\u2060"

// mentions returns where the mentions in a text begin and end, as bytes.
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

// quieten puts code around mentions: Telegram reads none in code, and the text stays what the model wrote. It leaves out
// mentions in solid, which are the code, links and quotes of the text, and in linked, the addresses that Telegram links by itself.
func quieten(text string, solid, linked []styled) []styled {
	for _, m := range mentions(text) {
		e := styled{kind: kindCode, start: m[0], end: m[1], quiet: true}
		if within(linked, e) || within(solid, e) {
			continue
		}
		for _, s := range solid {
			if s.start > e.start && s.start < e.end {
				e.end = s.start
			}
		}
		solid = append(solid, e)
	}
	inOrder(solid)
	return solid
}

func inOrder(list []styled) {
	slices.SortStableFunc(list, func(a, b styled) int { return cmp.Or(a.start-b.start, b.end-a.end) })
}

// within reports whether e begins in one of the others that is not a quote.
func within(others []styled, e styled) bool {
	return slices.ContainsFunc(others, func(o styled) bool {
		return o.kind != kindQuote && o.start <= e.start && o.end > e.start
	})
}

// breakSurplus puts a word joiner into each mention beyond the number of entities that a message may have, and moves the formats
// accordingly.
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
