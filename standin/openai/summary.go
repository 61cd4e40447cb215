package openai

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	summarizeRE = regexp.MustCompile(`(?i)^summari[sz]e\b`)
	keepRE      = regexp.MustCompile(`(?i)remember|my name is`)
	sentenceRE  = regexp.MustCompile(`[.!?…]+["')\]]*\s+`)
	bulletRE    = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+`)
)

// summary returns the answer to a question that begins with "Summarize". summary contains the sentences of the whole
// conversation that keepRE matches, each once and in order. The last line of the summary counts the sentences that the
// summary leaves out. A summary of a summary contains the same sentences.
func summary(talk []said) string {
	var kept []string
	seen := map[string]bool{}
	rest := 0
	for _, m := range talk {
		for sentence := range sentences(m.text) {
			if !keepRE.MatchString(sentence) {
				rest++
			} else if key := strings.ToLower(sentence); !seen[key] {
				seen[key] = true
				kept = append(kept, "- "+sentence+"\n")
			}
		}
	}
	text := "Summary of the conversation so far.\n\n"
	if len(kept) > 0 {
		text += strings.Join(kept, "") + "\n"
	}
	return text + fmt.Sprintf("The rest, %d sentences in %d messages, was small talk.", rest, len(talk))
}

// sentences yields the sentences of a text, line by line, without the markers of lists.
func sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(bulletRE.ReplaceAllString(line, ""))
			for line != "" {
				end := len(line)
				if at := sentenceRE.FindStringIndex(line); at != nil {
					end = at[1]
				}
				if !yield(strings.TrimSpace(line[:end])) {
					return
				}
				line = line[end:]
			}
		}
	}
}
