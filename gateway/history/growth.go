package history

import (
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// maxPicture bounds, in bytes, each picture of a tool that the history keeps. What people attach was made smaller
// before; a tool's pictures are shown to the model as they are, once.
const maxPicture = 512 << 10

// Growth returns what a turn adds to the history that it was run with, when so many messages of it are kept. replaces
// says that it takes the place of another turn.
func (h History) Growth(kept []agent.Message, r agent.Result, replaces bool) (g chat.Growth, err error) {
	g.Usage = Usage(r.Spent)
	if g.History, err = Encode(kept); err != nil {
		return g, err
	}
	if replaces && len(kept) == 0 {
		return g, nil // what it would have replaced stays, and no summary stands for that
	}
	if c := r.Compaction; c != nil && c.Messages > 0 && c.Messages <= len(h.Entries) {
		g.Compaction = &chat.Compaction{Summary: c.Summary, Upto: h.Entries[c.Messages-1].ID}
	}
	return g, nil
}

// Encode writes messages as the store keeps them.
func Encode(messages []agent.Message) ([][]byte, error) {
	var out [][]byte
	for _, m := range messages {
		b, err := json.Marshal(withoutLargePictures(m))
		if err != nil {
			return nil, fmt.Errorf("encode history: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// withoutLargePictures returns an answer of a tool without the pictures that are too large to be shown again in every
// turn.
func withoutLargePictures(m agent.Message) agent.Message {
	small := slices.DeleteFunc(slices.Clone(m.Images), func(i agent.Image) bool { return len(i.Data) > maxPicture })
	if m.Role != agent.ToolRole || len(small) == len(m.Images) {
		return m
	}
	m.Text += fmt.Sprintf("\n[pictures that were too large to be kept: %d]", len(m.Images)-len(small))
	m.Images = small
	return m
}

// Usage returns what a turn used as the store keeps it. What the provider did not tell is estimated, so that it counts.
func Usage(spent []agent.Spent) []chat.Usage {
	var out []chat.Usage
	for _, s := range spent {
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
