package telegram

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// These patterns match the links, mentions, commands and hashtags that Telegram itself detects in every text. In rare
// cases, Telegram's own detection differs from these patterns.
var (
	mentionPattern = regexp.MustCompile(`(?:^|[^\w@/])(@\w{3,32})\b`)
	commandPattern = regexp.MustCompile(`(?:^|[^\w/<>@])(/\w{1,64}(?:@\w{3,32})?)\b`)
	hashtagPattern = regexp.MustCompile(`(?:^|[^\w&#])(#[\p{L}\d_]*[\p{L}_][\p{L}\d_]*)`)
	urlPattern     = regexp.MustCompile(`(?i)(?:^|[^\w@./-])((?:(?:https?|ftp)://[^\s<>"'` + "`" + `]+)|` +
		`(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|org|net|io|dev|me|info|de|fr|uk|eu|ru|gov|edu|app|ai)\b(?:[/?#][^\s<>"'` + "`" + `]*)?)`)
)

// detect returns entities for the links, mentions, commands and hashtags in a text. detect leaves out those that
// overlap one of the given entities. Formats such as bold, and quotes, are an exception: they may lie inside an entity
// that detect finds, or around it.
func detect(text string, given []Entity) []Entity {
	var found []Entity
	if strings.ContainsAny(text, ".:") {
		found = append(found, matches(text, urlPattern, "url")...)
	}
	if strings.Contains(text, "@") {
		found = append(found, matches(text, mentionPattern, "mention")...)
	}
	if strings.Contains(text, "/") {
		found = append(found, matches(text, commandPattern, "bot_command")...)
	}
	if strings.Contains(text, "#") {
		found = append(found, matches(text, hashtagPattern, "hashtag")...)
	}
	if len(found) == 0 {
		return nil
	}
	toUTF16(text, found)
	sortEntities(found)
	found = dropOverlapping(found)
	return slices.DeleteFunc(found, func(f Entity) bool {
		return slices.ContainsFunc(given, func(g Entity) bool {
			if isSplittable(g.Type) || isQuote(g.Type) {
				return overlaps(f, g) && !isInside(f, g) && !isInside(g, f)
			}
			return overlaps(f, g)
		})
	})
}

// matches returns an entity for each match of a pattern, with offsets in bytes.
func matches(text string, pattern *regexp.Regexp, kind string) []Entity {
	var found []Entity
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		start, end := at[2], at[3]
		if kind == "url" {
			end = start + len(strings.TrimRight(text[start:end], ".,:;!?)'"))
		}
		if kind == "bot_command" && end < len(text) && strings.IndexByte("/<>", text[end]) >= 0 {
			continue
		}
		if end > start {
			found = append(found, Entity{Type: kind, Offset: start, Length: end - start})
		}
	}
	return found
}

// toUTF16 converts the offsets of entities from bytes to UTF-16 units.
func toUTF16(text string, list []Entity) {
	units := make([]int, len(text)+1)
	n := 0
	for i, r := range text {
		units[i] = n
		n += utf16.RuneLen(r)
	}
	units[len(text)] = n
	for i := range list {
		end := units[list[i].end()]
		list[i].Offset = units[list[i].Offset]
		list[i].Length = end - list[i].Offset
	}
}
