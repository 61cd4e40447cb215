package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"telex/platforms/terminal"
)

// hubConn contains the methods of a [terminal.Client] that the model calls.
type hubConn interface {
	Say(id, text string, files ...terminal.File) error
	Stop() error
}

// These are the events that the model handles, in addition to key presses.
type (
	frameMsg   struct{ terminal.Frame }
	endedMsg   struct{ err error } // the connection has ended
	leaveMsg   struct{}            // the program should end
	printedMsg struct{}            // the lines that were being printed are now in the scrollback
	drawnMsg   struct{}            // the screen has been drawn for the first time
	tickMsg    struct{}
)

// tick is the interval of the spinner.
const tick = 120 * time.Millisecond

// firstFrame is how long the model waits for the renderer to draw the screen for the first time. Before the first
// frame, the renderer assumes that the frame fills the terminal, and would lose any lines that the model prints above
// the frame.
const firstFrame = 100 * time.Millisecond

// unansweredInput is an input of the person to which the answer is not complete.
type unansweredInput struct {
	id, text string
	files    []terminal.File
}

// entry is a message that the screen shows. An entry is in the list of entries because its message or an earlier
// message may still change.
type entry struct {
	id     string // id of the bot's message
	text   string // text without harmful characters, safe to print
	cursor string // cursor that the screen shows after a growing text
	live   bool   // the message may still change
	held   bool   // the message is final, but the answer is not; another process may continue the message
	lines  []string
}

// model is the state of the user interface. The field entries contains a message while this message or an earlier
// message may still change. When neither message can change any more, the lines of the message move to the field above,
// and later to the terminal's scrollback. The screen shows a line until the line is in the scrollback, so that no line
// disappears in between.
type model struct {
	client       hubConn
	dialect      terminal.Dialect
	session      string
	name         string          // name of the model
	once         bool            // the hub accepts an input only once, even if the client repeats it
	offers       []string        // names of commands that the Tab key completes
	files        []terminal.File // files for the next input
	takesFiles   bool            // the hub accepts files
	disconnected string          // why the client is not connected now; empty: the client is connected
	gone         error           // why the connection ended

	width, height int
	reflows       bool // the terminal wraps lines again when its window gets narrower
	begun, drawn  bool // drawing has begun; the first frame was drawn
	entries       []entry
	above         []string          // wrapped final lines, which move to the scrollback when there is no room for them
	printing      int               // how many lines at the beginning of above are being printed to the scrollback
	done          map[string]string // for messages that are no longer in entries: maps the message id to the text

	editor  editor
	asked   int               // number of inputs that the person has sent so far
	waiting []unansweredInput // unanswered inputs
	typing  bool              // the bot answers a question that this client did not ask, such as one of an earlier client
	notice  string            // text that the status line shows until the next key press
	phase   int               // index of the frame of the spinner's animation
	turning bool              // the spinner's next tick is scheduled
	leaving bool
	ended   error // why the connection has ended
}

func newModel(c hubConn, w terminal.Welcome, o Options) *model {
	return &model{
		client: c, dialect: o.Dialect, session: o.Session, name: terminal.Clean(w.Model), once: w.Once, offers: offers(w), takesFiles: w.Files, reflows: o.Reflows,
		done: make(map[string]string),
	}
}

// history records the session's earlier messages, and returns the text that Converse prints for them.
func (m *model) history(lines []terminal.Line, width int) string {
	var out strings.Builder
	for _, l := range lines {
		text := terminal.Clean(strings.ReplaceAll(l.Text, "\t", "    "))
		if l.Mine {
			m.editor.past = append(m.editor.past, text)
			text = m.mine(text)
		} else {
			text = m.dialect.Markdown(l.Text)
			m.done[l.ID] = text
		}
		out.WriteString(strings.Join(wrap(text, width), "\n") + "\n\n")
	}
	return out.String()
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		for i := range m.entries {
			m.entries[i].lines = wrap(m.entries[i].text+m.entries[i].cursor, m.width)
		}
		m.rewrap()
	case tea.KeyPressMsg:
		m.notice = ""
		if cmd := m.key(msg); cmd != nil {
			return m, cmd
		}
	case tea.PasteMsg:
		m.editor.insert(msg.Content)
	case frameMsg:
		m.frame(msg.Frame)
	case endedMsg:
		m.ended, m.leaving = msg.err, true
		m.settled()
	case awayMsg:
		m.lose(msg.err)
	case backMsg:
		m.resume(msg.client, msg.welcome)
	case leaveMsg:
		m.leave()
	case printedMsg:
		m.above, m.printing = m.above[m.printing:], 0
	case drawnMsg:
		m.drawn = true
		// The renderer learns the position of its first row only when the program prints a line above that row. If the model
		// did not print an empty line here, the renderer would leave old frames on the screen.
		return m, tea.Batch(tea.Println(" "), m.next())
	case tickMsg:
		m.phase, m.turning = m.phase+1, false
	}
	return m, m.next()
}

// The method next returns the Bubble Tea commands that the model's new state requires: to print lines, to schedule the
// spinner, or to end the program.
func (m *model) next() tea.Cmd {
	if m.width == 0 || m.begun && !m.drawn {
		return nil
	}
	if !m.begun {
		m.begun = true
		return tea.Tick(firstFrame, func(time.Time) tea.Msg { return drawnMsg{} })
	}
	for len(m.entries) > 0 && !m.entries[0].live && !m.entries[0].held {
		e := m.entries[0]
		m.entries = m.entries[1:]
		m.above = append(append(m.above, e.lines...), "")
		if e.id != "" {
			m.done[e.id] = e.text
		}
	}
	var cmds []tea.Cmd
	if n := min(m.excess(), m.reserve()); n > 0 && m.printing == 0 {
		text := strings.Join(m.above[:n], "\n")
		if text == "" {
			text = " " // Println ignores an empty line
		}
		m.printing = n
		cmds = append(cmds, tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} }))
	}
	if m.busy() && !m.turning {
		m.turning = true
		cmds = append(cmds, tea.Tick(tick, func(time.Time) tea.Msg { return tickMsg{} }))
	}
	if m.left() {
		cmds = append(cmds, tea.Quit)
	}
	return tea.Batch(cmds...)
}

// rewrap wraps, to the new width of the terminal, the final lines that are not in the scrollback yet. rewrap does not
// change lines that are being printed.
func (m *model) rewrap() {
	var lines []string
	for _, l := range m.above[m.printing:] {
		lines = append(lines, wrap(l, m.width)...)
	}
	m.above = append(m.above[:m.printing:m.printing], lines...)
}

// excess returns how many final lines must move to the scrollback, because the screen has no room for them. When the
// program ends, excess returns the number of all final lines, so that the shell's prompt appears below them.
func (m *model) excess() int {
	if m.leaving && len(m.entries) == 0 {
		return len(m.above)
	}
	said := len(m.above)
	for _, e := range m.entries {
		said += len(e.lines) + 1
	}
	return min(len(m.above), said-m.room())
}

func (m *model) busy() bool { return len(m.waiting) > 0 || m.typing }

// The method left reports whether the person has left and all messages are in the scrollback, so that the program may
// end.
func (m *model) left() bool {
	return m.leaving && len(m.above) == 0 && len(m.entries) == 0 && (len(m.waiting) == 0 || m.ended != nil)
}

// leave stops the current answer and then ends the program.
func (m *model) leave() {
	switch {
	case m.leaving || len(m.waiting) == 0:
	case m.disconnected != "": // without a connection, the client can't stop the answer
		m.ended = m.gone
		m.settled()
	default:
		m.stop()
	}
	m.leaving = true
	if len(m.waiting) == 0 {
		m.settled()
	}
}

func (m *model) stop() {
	if err := m.client.Stop(); err != nil {
		m.notice = "could not be sent to telex"
	}
}

// The method settled marks all entries as final.
func (m *model) settled() {
	for i := range m.entries {
		e := &m.entries[i]
		if e.held = false; e.live {
			e.live, e.cursor = false, ""
			e.lines = wrap(e.text, m.width)
		}
	}
}

// The method frame handles a frame that the hub has sent.
func (m *model) frame(f terminal.Frame) {
	switch {
	case f.Message != nil:
		m.typing = false
		m.show(*f.Message)
	case f.Deleted != nil:
		for i := range m.entries {
			if m.entries[i].id == f.Deleted.ID {
				m.entries = append(m.entries[:i:i], m.entries[i+1:]...)
				break
			}
		}
	case f.Typing != nil:
		m.typing = len(m.waiting) == 0
	case f.Done != nil:
		m.typing = false
		m.waiting = slices.DeleteFunc(m.waiting, func(s unansweredInput) bool { return s.id == f.Done.Input })
		for i := range m.entries {
			m.entries[i].held = false
		}
		if len(m.waiting) == 0 {
			m.settled() // a stopped answer may end without another frame
		}
	}
}

// show updates the entry of a message with the message's newest state.
func (m *model) show(s terminal.Message) {
	e := entry{id: s.ID, text: s.Text, cursor: s.Cursor, live: s.Live, held: len(m.waiting) > 0}
	e.lines = wrap(e.text+e.cursor, m.width)
	for i := range m.entries {
		if m.entries[i].id == s.ID {
			m.entries[i] = e
			return
		}
	}
	if text, known := m.done[s.ID]; known && text == s.Text {
		return // the message is in the scrollback, from which it can't be removed
	}
	m.entries = append(m.entries, e)
}

// submit sends the input to the hub. If the input is an /attach command, submit attaches the file instead.
func (m *model) submit() {
	if strings.TrimSpace(m.editor.text) == "" || m.leaving {
		return
	}
	if path, ok := cutAttach(m.editor.text); ok {
		m.attach(path)
		return
	}
	if m.disconnected != "" {
		m.notice = "telex is away: this stays here until it is back"
		return
	}
	if len(m.editor.text) > terminal.MaxInput {
		m.notice = "this message is too long"
		return
	}
	m.asked++
	s := unansweredInput{strconv.Itoa(m.asked), m.editor.take(), m.files}
	m.files = nil
	e := entry{text: m.mine(s.text)}
	e.lines = wrap(e.text, m.width)
	m.entries = append(m.entries, e)
	m.waiting = append(m.waiting, s)
	m.say(s)
	if strings.TrimSpace(s.text) == "/help" {
		m.note(attachHelp)
	}
}

func (m *model) say(s unansweredInput) {
	if err := m.client.Say(s.id, s.text, s.files...); err != nil {
		m.notice = "could not be sent to telex" // resume repeats the input on the next connection
	}
}

// The function offers returns the names of the commands that the Tab key completes.
func offers(w terminal.Welcome) []string {
	if !w.Files || len(w.Commands) == 0 {
		return w.Commands
	}
	return append(slices.Clip(w.Commands), strings.TrimPrefix(attachCommand, "/"))
}
