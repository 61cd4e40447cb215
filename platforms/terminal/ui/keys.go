package ui

import tea "charm.land/bubbletea/v2"

// The method key handles the press of a key, and returns a command that the library Bubble Tea must execute, or nil.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	switch k.Keystroke() {
	case "ctrl+c":
		m.interrupt()
	case "ctrl+d":
		switch {
		case m.editor.text != "":
			m.editor.cut(m.editor.at, m.editor.after())
		case m.leaving: // the program is already ending: do not wait for the answer
			return tea.Quit
		default:
			m.leave()
		}
	case "ctrl+z":
		return tea.Suspend
	case "enter":
		m.submit()
	case "tab":
		m.notice = m.editor.complete(m.offers)
	case "alt+enter", "shift+enter", "ctrl+j":
		m.editor.insert("\n")
	default:
		m.edit(k)
	}
	return nil
}

// interrupt handles Ctrl-C by the first of these actions that is possible: end the program if there is no connection,
// stop the current answer, clear the input, or show how to leave.
func (m *model) interrupt() {
	switch {
	case m.disconnected != "":
		m.leave()
	case m.busy():
		m.stop()
	case m.editor.text != "":
		m.editor.set("")
	default:
		m.notice = "Ctrl-D leaves"
	}
}

// The method edit handles the press of a key that changes the input.
func (m *model) edit(k tea.KeyPressMsg) {
	e := &m.editor
	switch k.Keystroke() {
	case "backspace", "ctrl+h":
		e.cut(e.before(), e.at)
	case "delete":
		e.cut(e.at, e.after())
	case "left", "ctrl+b":
		e.at = e.before()
	case "right", "ctrl+f":
		e.at = e.after()
	case "home", "ctrl+a":
		e.at = e.lineStart()
	case "end", "ctrl+e":
		e.at = e.lineEnd()
	case "up", "ctrl+p":
		e.up()
	case "down", "ctrl+n":
		e.down()
	case "ctrl+u":
		e.cut(e.lineStart(), e.at)
	case "ctrl+k":
		e.cut(e.at, e.lineEnd())
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordStart(), e.at)
	default:
		e.insert(k.Text)
	}
}
