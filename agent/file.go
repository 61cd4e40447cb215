package agent

import (
	"fmt"
	"slices"
)

// maxRequestFiles is how many bytes the files of a request have: encoding a request takes several times as much memory.
const maxRequestFiles = 12 << 20

// What stands in the text for a file that is not sent.
const (
	fileOlder    = "[file %s]"
	fileNotShown = "[file %s: not shown, this model takes no files and could not read it]"
)

// limitFiles returns the messages with the newest files only, so many bytes of them at most, and a line in the text for
// each of the others. It changes none of the messages that it was given.
func limitFiles(messages []Message, bytes int, line string) []Message {
	out := messages
	for i, m := range slices.Backward(messages) {
		over := len(m.Files)
		for over > 0 && len(m.Files[over-1].Content) <= bytes {
			over--
			bytes -= len(m.Files[over].Content)
		}
		if over == 0 {
			continue
		}
		bytes = -1 // those before are older
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		for _, f := range m.Files[:over] {
			if m.Text != "" {
				m.Text += "\n"
			}
			m.Text += fmt.Sprintf(line, f.Name)
		}
		m.Files = m.Files[over:]
		out[i] = m
	}
	return out
}

func hasFiles(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Files) > 0 })
}
