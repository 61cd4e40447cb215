package agent

import (
	"slices"
	"strings"
)

// maxImages is how many images a request holds: each costs about what a page of text does, and
// what is asked is mostly about the newest.
const maxImages = 10

const (
	// maxImageBytes is how many bytes the images of a request have: encoding a request takes several times as much memory.
	maxImageBytes = 12 << 20
	// maxTurnImages is how many bytes the images that tools return in one turn have.
	maxTurnImages = 24 << 20
)

// What stands in the text for an image that is not sent.
const (
	imageOlder    = "[image]"
	imageNotShown = "[image: not shown, this model takes no images]"
)

// limitImages returns the messages with the newest images only, so many and with maxImageBytes at most, and a line in
// the text for each of the others. It changes none of the messages that it was given.
func limitImages(messages []Message, most int, line string) []Message {
	out, bytes := messages, maxImageBytes
	for i, m := range slices.Backward(messages) {
		over := len(m.Images)
		for most > 0 && over > 0 && len(m.Images[over-1].Data) <= bytes {
			over--
			most--
			bytes -= len(m.Images[over].Data)
		}
		if over > 0 {
			most = 0 // those before are older
		}
		if over == 0 {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		lines := slices.Repeat([]string{line}, over)
		if m.Text != "" {
			lines = slices.Insert(lines, 0, m.Text)
		}
		out[i].Text, out[i].Images = strings.Join(lines, "\n"), m.Images[over:]
	}
	return out
}

func hasImages(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Images) > 0 })
}
