package agent

import (
	"fmt"
	"slices"
)

// maxRequestFiles is the maximum size of all files in a request, in bytes. Encoding a request needs several times as much
// memory as its files.
const maxRequestFiles = 12 << 20

// Each of these lines replaces a file in the text of a message if the file is not sent to the model.
const (
	fileOmitted  = "[file %s]"
	fileNotShown = "[file %s: not shown, this model takes no files and could not read it]"
)

// limitFiles returns the messages with only their newest files, at most maxBytes in total. In the text of a message, line
// replaces each file that was removed. limitFiles does not change its arguments.
func limitFiles(messages []Message, maxBytes int, line string) []Message {
	out := messages
	for i, m := range slices.Backward(messages) {
		removed := len(m.Files)
		for removed > 0 && len(m.Files[removed-1].Content) <= maxBytes {
			removed--
			maxBytes -= len(m.Files[removed].Content)
		}
		if removed == 0 {
			continue
		}
		maxBytes = -1 // older messages keep no files
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		for _, f := range m.Files[:removed] {
			if m.Text != "" {
				m.Text += "\n"
			}
			m.Text += fmt.Sprintf(line, f.Name)
		}
		m.Files = m.Files[removed:]
		out[i] = m
	}
	return out
}

func hasFiles(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Files) > 0 })
}
