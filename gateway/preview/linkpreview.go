package preview

import (
	"regexp"
	"strings"
	"unicode"

	"telex/internal/chat"
)

var (
	// addressLike matches every text that a platform may treat as a URL. addressLike may also match other text.
	addressLike = regexp.MustCompile(`(?i):/|www\.|[\p{L}\p{N}_-]\.\p{L}{2}`)
	// destination matches the part of a Markdown link that contains its URL.
	destination = regexp.MustCompile(`\]\(<?([^()<>\s]*)`)
)

// linkPreview returns the URL for which the platform may show a link preview. If the asker typed every URL in message
// m, linkPreview returns the first of them. If the asker did not type every URL, linkPreview returns "". To show a link
// preview, the platform fetches the URL, so a URL that the model wrote could leak data to a website.
func (r *Reply) linkPreview(m chat.Outgoing) string {
	if r.cfg.Typed == nil {
		return ""
	}
	found := addresses(m.Plain)
	for _, link := range destination.FindAllStringSubmatch(m.Text, -1) {
		found = append(found, link[1])
	}
	for _, s := range m.Spans {
		if s.URL != "" {
			found = append(found, s.URL)
		}
	}
	for _, address := range found {
		if !r.cfg.Typed(address) {
			return ""
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// addresses returns every word of a text that could be a URL. addresses strips surrounding parentheses and one
// punctuation mark at the end, but nothing else, since Config.Typed must see the whole URL.
func addresses(text string) []string {
	var list []string
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return unicode.IsSpace(c) || c == '<' || c == '>' }) {
		if !addressLike.MatchString(word) {
			continue
		}
		if n := len(word) - 1; strings.IndexByte(".,:;", word[n]) >= 0 {
			word = word[:n]
		}
		if inner, ok := strings.CutPrefix(word, "("); ok {
			word = strings.TrimSuffix(inner, ")")
		}
		list = append(list, word)
	}
	return list
}
