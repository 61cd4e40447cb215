package agent

// maxDisplay is the maximum length, in bytes, of the line that describes a call to people.
const maxDisplay = 200

// statuses emits the states of a turn's tool calls as events. statuses emits an event only when a state changes. statuses
// ignores calls without an id, and calls that have already ended.
type statuses struct {
	emit  func(Event)
	calls map[string]*Tool
	order []string
}

// set emits a call's state. If display is empty, the call keeps its earlier description. The first description is the tool's
// name.
func (s *statuses) set(id, name, display string, state ToolState) {
	if id == "" {
		return
	}
	if s.calls == nil {
		s.calls = make(map[string]*Tool)
	}
	display = OneLine(Clip(display, maxDisplay))
	known := s.calls[id]
	if known != nil && known.Name != name { // the provider sent the name in pieces
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
	case isFinal(known.State), state < known.State && known.State != ToolInterrupted,
		state == known.State && (display == "" || display == known.Display):
		return
	}
	if display != "" {
		known.Display = display
	}
	known.State = state
	s.emit(*known)
}

// failUnfinished marks the calls that have not ended as failed.
func (s *statuses) failUnfinished() {
	for _, id := range s.order {
		if c := s.calls[id]; !isFinal(c.State) {
			s.set(id, c.Name, "", ToolFailed)
		}
	}
}

func isFinal(state ToolState) bool { return state == ToolCompleted || state == ToolFailed }

// display returns the tool's description of a call for people.
func (d ToolDef) display(arguments string) string { return callDescription(d.Show, arguments) }

// callDescription returns the description of a call that the function ask returns, or an empty text if ask is nil or panics.
func callDescription(ask func(arguments string) string, arguments string) (text string) {
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
