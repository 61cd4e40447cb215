package agent

// maxDisplay bounds, in bytes, what is said about a call on its line.
const maxDisplay = 200

// statuses emits the states of a turn's calls. It emits only changes, nothing for a call without an id, and nothing after a call
// has ended.
type statuses struct {
	emit  func(Event)
	calls map[string]*Tool
	order []string
}

// set tells a call's state. An empty display keeps what was shown; at first it is the name.
func (s *statuses) set(id, name, display string, state ToolState) {
	if id == "" {
		return
	}
	if s.calls == nil {
		s.calls = make(map[string]*Tool)
	}
	display = OneLine(Clip(display, maxDisplay))
	known := s.calls[id]
	if known != nil && known.Name != name { // it came in pieces
		if display == "" && known.Display == known.Name {
			display = name
		}
		known.Name = name
	}
	switch {
	case known == nil:
		if display == "" {
			display = name
		}
		known = &Tool{ID: id, Name: name}
		s.calls[id] = known
		s.order = append(s.order, id)
	case ended(known.State), state < known.State && known.State != ToolInterrupted,
		state == known.State && (display == "" || display == known.Display):
		return
	}
	if display != "" {
		known.Display = display
	}
	known.State = state
	s.emit(*known)
}

// abandon marks the calls that have not ended as failed.
func (s *statuses) abandon() {
	for _, id := range s.order {
		if c := s.calls[id]; !ended(c.State) {
			s.set(id, c.Name, "", ToolFailed)
		}
	}
}

func ended(state ToolState) bool { return state == ToolCompleted || state == ToolFailed }

// display asks a tool what a call of it is about.
func (d ToolDef) display(arguments string) string { return words(d.Show, arguments) }

// words asks a tool for words about a call. A tool that has none, or fails at it, has nothing to say.
func words(ask func(arguments string) string, arguments string) (text string) {
	if ask == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return ask(arguments)
}
