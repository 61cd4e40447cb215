package agent

import "cmp"

// Lines are the fixed lines that people read in place of a missing answer, or after a text, to learn why it ends. The
// model never sees them.
type Lines map[StopReason]string

// DefaultLines returns the lines in English.
func DefaultLines() Lines {
	return Lines{
		StopThinking:  "(The model thought about it but gave no answer. Please ask again.)",
		StopRefused:   "(The model declined to answer this.)",
		StopFiltered:  "(The provider's content filter stopped this answer.)",
		StopLength:    "(The answer reached the length limit and ends here.)",
		StopEmpty:     "(The model gave no answer. Please ask again.)",
		StopNoTool:    "(The model asked for a tool, but no tools are available here.)",
		StopTooLong:   "This is too long for me. Please send it in smaller pieces.",
		StopNoRoom:    "I can't answer this because of how I'm configured. Please tell whoever runs this bot; the log says why.",
		StopToolCalls: "(The limit of tool calls for one answer was reached, so this may be incomplete.)",
		StopCalls:     "(The limit of steps for one answer was reached, so this may be incomplete.)",
	}
}

// orDefault fills in the lines that were left empty.
func (l Lines) orDefault() Lines {
	all := DefaultLines()
	for reason, line := range l {
		all[reason] = cmp.Or(line, all[reason])
	}
	return all
}
