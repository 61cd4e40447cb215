package agent

import (
	"slices"
	"strings"
)

// maxImages is the maximum number of images in a request. An image costs as much as a page of text, and most questions are
// about the newest images.
const maxImages = 10

const (
	// maxImageBytes is the maximum size of all images in a request. Encoding a request needs several times as much memory as its
	// images.
	maxImageBytes = 12 << 20
	// maxTurnImages is the maximum size, in bytes, of all images that tools return in one turn.
	maxTurnImages = 24 << 20
)

// Each of these lines replaces an image in the text of a message if the image is not sent to the model.
const (
	imageOmitted  = "[image]"
	imageNotShown = "[image: not shown, this model takes no images]"
)

// limitImages returns the messages with only their newest images, at most maxCount images and maxImageBytes in total. In the
// text of a message, line replaces each image that was removed. limitImages does not change its arguments.
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
