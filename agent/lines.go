package agent

import "cmp"

// Lines are fixed texts that tell people why a turn ended early. A line replaces a missing answer, or follows the text of an
// incomplete one. The model never sees these lines.
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

// orDefault replaces each empty line by the line of DefaultLines.
func (l Lines) orDefault() Lines {
	all := DefaultLines()
	for reason, line := range l {
		all[reason] = cmp.Or(line, all[reason])
	}
	return all
}
