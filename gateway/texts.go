package gateway

import (
	"maps"
	"slices"
	"strings"

	"telex/agent"
)

// Texts are the fixed lines that people see, by key.
type Texts map[TextKey]string

// TextKey names one fixed line.
type TextKey string

// The keys of the fixed lines. In those that say so, {id} becomes the id that finds the
// turn in the log.
const (
	TextFailed      TextKey = "failed"        // {id}; the turn failed inside
	TextModel       TextKey = "model_trouble" // {id}; the model could not be used
	TextTimeLimit   TextKey = "time_limit"    // {id}; the turn took too long
	TextSilence     TextKey = "silence"       // {id}; the model went silent
	TextCallLimit   TextKey = "call_limit"    // {id}; too many model or tool calls
	TextLength      TextKey = "length"
	TextFiltered    TextKey = "filtered"
	TextRefused     TextKey = "refused"
	TextEmpty       TextKey = "empty"
	TextThinking    TextKey = "only_thinking"
	TextNoTool      TextKey = "no_tool"
	TextStopped     TextKey = "stopped"
	TextNothing     TextKey = "nothing_to_stop"
	TextNew         TextKey = "new_conversation"
	TextQueueFull   TextKey = "queue_full"
	TextInterrupted TextKey = "interrupted"  // {id}; a restart cut the answer, and it is too late to finish it
	TextLate        TextKey = "late"         // a message that waited too long for a restart
	TextRest        TextKey = "rest_in_file" // above the file that holds what is too long for messages
	TextUnsupported TextKey = "unsupported"  // a message without text
	TextHelp        TextKey = "help"
)

// DefaultTexts returns every fixed line in English. Those that stand in for what a model did
// not say are the agent's.
func DefaultTexts() Texts {
	l := agent.DefaultLines()
	return Texts{
		TextFailed:      "⚠️ Something went wrong here. (error {id})",
		TextModel:       "⚠️ The model could not be used just now. (error {id})",
		TextTimeLimit:   "⚠️ This took too long, so I stopped. (error {id})",
		TextSilence:     "⚠️ The model stopped answering. (error {id})",
		TextCallLimit:   "⚠️ This needed too many steps, so I stopped. (error {id})",
		TextLength:      l.Length,
		TextFiltered:    l.Filtered,
		TextRefused:     l.Refused,
		TextEmpty:       l.Empty,
		TextThinking:    l.Thinking,
		TextNoTool:      l.NoTool,
		TextStopped:     "Stopped.",
		TextNothing:     "Nothing is running.",
		TextNew:         "A new conversation begins. I have forgotten the one before.",
		TextQueueFull:   "Too many messages are waiting. Please send this again later.",
		TextInterrupted: "⚠️ I was interrupted here. Please ask again. (error {id})",
		TextLate:        "I was away when you wrote this. Please send it again if it still matters.",
		TextRest:        "The rest of this answer is in the file.",
		TextUnsupported: "I can only read text so far.",
		TextHelp: "Write to me and I answer.\n\n" +
			"/new – begin a new conversation\n/stop – stop the answer\n/help – this text",
	}
}

// TextKeys returns the keys that the configuration may set, sorted.
func TextKeys() []string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(DefaultTexts())) {
		keys = append(keys, string(k))
	}
	return keys
}

// With returns the texts with the given lines in place of their own. Unknown keys and empty
// lines change nothing.
func (t Texts) With(own map[string]string) Texts {
	t = maps.Clone(t)
	for k, line := range own {
		if _, known := t[TextKey(k)]; known && line != "" {
			t[TextKey(k)] = line
		}
	}
	return t
}

// line returns a fixed line with its id filled in.
func (t Texts) line(k TextKey, id string) string {
	return strings.ReplaceAll(t[k], "{id}", id)
}

// failure returns the key of the line for a turn that ended without an answer of its own.
func failure(stop agent.StopReason) TextKey {
	switch stop {
	case agent.StopTimeLimit:
		return TextTimeLimit
	case agent.StopSilence:
		return TextSilence
	case agent.StopCalls:
		return TextCallLimit
	case agent.StopError:
		return TextModel
	default:
		return TextFailed
	}
}
