package agent

// Lines are the fixed lines that stand in for what a model did not say, or say why its text
// ends where it does. The model never sees them.
type Lines struct {
	Thinking string // the model thought and said nothing
	Refused  string // the model refused
	Filtered string // the provider's content filter stepped in
	Length   string // the model hit its output limit
	Empty    string // nothing came
	NoTool   string // the model called a tool, and there is none
	TooLong  string // the question alone does not fit the model's window
	NoRoom   string // the configuration leaves no room for it there
	// The turn reached its limit of calls: of tools, of answers by the model.
	ToolCalls, ModelCalls string
}

// DefaultLines returns the lines in English.
func DefaultLines() Lines {
	return Lines{
		Thinking: "(The model thought about it but gave no answer. Please ask again.)",
		Refused:  "(The model declined to answer this.)",
		Filtered: "(The provider's content filter stopped this answer.)",
		Length:   "(The answer reached the length limit and ends here.)",
		Empty:    "(The model gave no answer. Please ask again.)",
		NoTool:   "(The model asked for a tool, but no tools are available here.)",
		TooLong:  "This is too long for me. Please send it in smaller pieces.",
		NoRoom:   "I can't answer this because of how I'm configured. Please tell whoever runs this bot; the log says why.",

		ToolCalls:  "(The limit of tool calls for one answer was reached, so this may be incomplete.)",
		ModelCalls: "(The limit of steps for one answer was reached, so this may be incomplete.)",
	}
}

// orDefault fills in the lines that were left empty.
func (l Lines) orDefault() Lines {
	d := DefaultLines()
	for _, p := range []struct {
		line *string
		text string
	}{
		{&l.Thinking, d.Thinking},
		{&l.Refused, d.Refused},
		{&l.Filtered, d.Filtered},
		{&l.Length, d.Length},
		{&l.Empty, d.Empty},
		{&l.NoTool, d.NoTool},
		{&l.TooLong, d.TooLong},
		{&l.NoRoom, d.NoRoom},
		{&l.ToolCalls, d.ToolCalls},
		{&l.ModelCalls, d.ModelCalls},
	} {
		if *p.line == "" {
			*p.line = p.text
		}
	}
	return l
}
