package history

import (
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// maxFile is the largest attached file that the history keeps, in bytes. maxFile equals the size limit of an attached
// picture. The model reads a file larger than maxFile only in the turn in which a person sent the file.
const maxFile = 1_000_000

// maxPicture is the largest picture of a tool that the history keeps, in bytes. (Pictures that people attach have a
// limit of their own.) The model sees a picture larger than maxPicture only in the turn whose tool made the picture.
const maxPicture = 512 << 10

// Growth returns what a turn adds to its session. h is the history that the model read in the turn. The parameter kept contains
// the new messages. The parameter replaces is true if the turn replaces an earlier turn, as after the command /retry.
func (h History) Growth(kept []agent.Message, r agent.Result, replaces bool) (g chat.Growth, err error) {
	g.Usage = Usage(r.UsageByModel)
	if g.History, err = Encode(kept); err != nil {
		return g, err
	}
	if replaces && len(kept) == 0 {
		return g, nil // the replaced turn stays in the history, so do not store a summary that may include it
	}
	if c := r.Compaction; c != nil && c.Messages > 0 && c.Messages <= len(h.Entries) {
		g.Compaction = &chat.Compaction{Summary: c.Summary, Upto: h.Entries[c.Messages-1].ID}
	}
	return g, nil
}

// Encode encodes messages as JSON for the store, without large files and pictures.
func Encode(messages []agent.Message) ([][]byte, error) {
	var out [][]byte
	for _, m := range messages {
		b, err := json.Marshal(withoutLargeFiles(withoutLargePictures(m)))
		if err != nil {
			return nil, fmt.Errorf("encode history: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// withoutLargePictures returns a tool's answer without those of its pictures that are larger than maxPicture. If the
// history kept a large picture, every later turn would send this picture to the model again.
func withoutLargePictures(m agent.Message) agent.Message {
	small := slices.DeleteFunc(slices.Clone(m.Images), func(i agent.Image) bool { return len(i.Data) > maxPicture })
	if m.Role != agent.ToolRole || len(small) == len(m.Images) {
		return m
	}
	m.Text += fmt.Sprintf("\n[pictures that were too large to be kept: %d]", len(m.Images)-len(small))
	m.Images = small
	return m
}

// withoutLargeFiles returns a message without those of its files that are larger than maxFile. If the history kept a
// large file, every later turn would send this file to the model again.
func withoutLargeFiles(m agent.Message) agent.Message {
	small := slices.DeleteFunc(slices.Clone(m.Files), func(f agent.File) bool { return len(f.Content) > maxFile })
	if len(small) == len(m.Files) {
		return m
	}
	m.Text += fmt.Sprintf("\n[attached files that were too large to be kept: %d]", len(m.Files)-len(small))
	m.Files = small
	return m
}

// Usage converts the usage of a turn for the store. The result of Usage includes estimates of usage that the model
// provider did not report.
func Usage(usage []agent.ModelUsage) []chat.Usage {
	var out []chat.Usage
	for _, s := range usage {
		u := chat.Usage{
			Model: s.Model, Calls: s.Calls,
			Prompt: s.Usage.Prompt, Cached: s.Usage.Cached, Completion: s.Usage.Completion, Reasoning: s.Usage.Reasoning,
		}
		if s.EstimatedPrompt > 0 || s.EstimatedCompletion > 0 {
			u.Prompt += s.EstimatedPrompt
			u.Completion += s.EstimatedCompletion
			u.Estimated = true
		}
		if u.Completion == 0 && s.Estimate > 0 {
			u.Completion = s.Estimate
			u.Estimated = true
		}
		if u.Calls > 0 || u.Prompt+u.Completion > 0 {
			out = append(out, u)
		}
	}
	return out
}
