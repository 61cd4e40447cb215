package agent

import (
	"slices"
	"strings"
)

// maxImages is how many images a request may have. Each costs as much as a page of text, and most questions are about
// the newest.
const maxImages = 10

const (
	// maxImageBytes bounds the images of a request: encoding a request takes several times as much memory.
	maxImageBytes = 12 << 20
	// maxTurnImages bounds the bytes of the images that tools return in one turn.
	maxTurnImages = 24 << 20
)

// The lines that replace an image that is not sent.
const (
	imageOmitted  = "[image]"
	imageNotShown = "[image: not shown, this model takes no images]"
)

// limitImages keeps only the newest images of the messages, at most maxCount and maxImageBytes, and puts a line into
// the text for each image that it removes. It does not change its arguments.
func limitImages(messages []Message, maxCount int, line string) []Message {
	out, bytes := messages, maxImageBytes
	for i, m := range slices.Backward(messages) {
		removed := len(m.Images)
		for maxCount > 0 && removed > 0 && len(m.Images[removed-1].Data) <= bytes {
			removed--
			maxCount--
			bytes -= len(m.Images[removed].Data)
		}
		if removed > 0 {
			maxCount = 0 // older messages keep no images
		}
		if removed == 0 {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		lines := slices.Repeat([]string{line}, removed)
		if m.Text != "" {
			lines = slices.Insert(lines, 0, m.Text)
		}
		out[i].Text, out[i].Images = strings.Join(lines, "\n"), m.Images[removed:]
	}
	return out
}

func hasImages(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Images) > 0 })
}
