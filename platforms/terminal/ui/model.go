package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"telex/platforms/terminal"
)

// side is what the screen needs of a [terminal.Client].
type side interface {
	Say(id, text string, files ...terminal.File) error
	Stop() error
}

// What happens besides keys.
type (
	frameMsg   struct{ terminal.Frame }
	endedMsg   struct{ err error } // the connection has ended
	leaveMsg   struct{}            // the program is told to end
	printedMsg struct{}            // the lines that were under way are in the scrollback now
	drawnMsg   struct{}            // the screen has been drawn for the first time
	tickMsg    struct{}
)

// tick is how fast the spinner turns.
const tick = 120 * time.Millisecond

// firstFrame is more than it takes until the screen is drawn for the first time. Before that the renderer takes all of the
// terminal for what it has drawn, and lines that are printed above it fall out.
const firstFrame = 100 * time.Millisecond

// said is an input that is not answered.
type said struct {
	id, text string
	files    []terminal.File
}

// entry is something that was said and is not in the scrollback yet.
type entry struct {
	id     string // of a message of the bot
	text   string // cleaned or written by the dialect
	cursor string // behind the text of one that grows
	live   bool   // it may still change
	held   bool   // it is final, but another daemon may go on with it: what it belongs to is not done
	lines  []string
}

// model is the state of the screen. Messages pass through it in order. They are entries while they, or one above them, may
// change; then final lines; then the scrollback. Lines stay on the screen until the scrollback has them, so that none ever
// vanishes in between.
type model struct {
	client     side
	dialect    terminal.Dialect
	session    string
	name       string          // of the model that answers
	once       bool            // the hub takes an input once, however often it is said
	offers     []string        // the names of commands
	files      []terminal.File // for the next input
	takesFiles bool            // the hub does
	away       string          // why there is no connection just now; empty: there is one
	gone       error           // how it ended

	width, height int
	reflows       bool // the terminal wraps its lines anew when it gets narrower
	begun, drawn  bool // drawing, and for the first time
	entries       []entry
	above         []string          // wrapped and final: they go to the scrollback once there is no room for them
	printing      int               // so many of them, the first ones, are under way
	done          map[string]string // the messages that have left entries, and their text

	editor  editor
	asked   int    // inputs so far
	waiting []said // those that are not answered
	typing  bool   // the bot is at work for nobody here: on what an earlier process left
	notice  string // stands in the status line until the next key
	phase   int    // of the spinner
	turning bool   // the spinner's next tick is under way
	leaving bool
	ended   error // why the connection has ended
}

func newModel(c side, w terminal.Welcome, o Options) *model {
	return &model{
		client: c, dialect: o.Dialect, session: o.Session, name: terminal.Clean(w.Model), once: w.Once, offers: offers(w), takesFiles: w.Files, reflows: o.Reflows,
		done: make(map[string]string),
	}
}

// history returns what was said before, as it looked when it came, and takes note of it.
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
		// Before something has been printed above it the renderer does not know where its first row is, and leaves each
		// frame on the screen that is lower than the next.
		return m, tea.Batch(tea.Println(" "), m.next())
	case tickMsg:
		m.phase, m.turning = m.phase+1, false
	}
	return m, m.next()
}

// next is what follows from the state: lines go to the scrollback, the spinner turns, the program ends.
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
			text = " " // an empty line is not printed at all
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

// rewrap fits the lines that are not in the scrollback yet to a new width. Those that are being printed count as
// printed.
func (m *model) rewrap() {
	var lines []string
	for _, l := range m.above[m.printing:] {
		lines = append(lines, wrap(l, m.width)...)
	}
	m.above = append(m.above[:m.printing:m.printing], lines...)
}

// excess is how many lines have no room on the screen any more, of those that may go to the scrollback. At the end it is
// all of them, which the shell's prompt then follows.
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

// left reports whether the program may end: everything shown is final and in the scrollback.
func (m *model) left() bool {
	return m.leaving && len(m.above) == 0 && len(m.entries) == 0 && (len(m.waiting) == 0 || m.ended != nil)
}

// leave ends the program, once the answer that is being written has been stopped.
func (m *model) leave() {
	switch {
	case m.leaving || len(m.waiting) == 0:
	case m.away != "": // nobody can be told
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
		m.notice = "telex could not be told"
	}
}

// settled makes everything final as it stands.
func (m *model) settled() {
	for i := range m.entries {
		e := &m.entries[i]
		if e.held = false; e.live {
			e.live, e.cursor = false, ""
			e.lines = wrap(e.text, m.width)
		}
	}
}

// frame takes what the hub says.
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
		m.waiting = slices.DeleteFunc(m.waiting, func(s said) bool { return s.id == f.Done.Input })
		for i := range m.entries {
			m.entries[i].held = false
		}
		if len(m.waiting) == 0 {
			m.settled() // an answer that was stopped may have no last word
		}
	}
}

// show takes the newest state of a message.
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
		return // it can't be taken back from the scrollback, and need not
	}
	m.entries = append(m.entries, e)
}

// submit hands over what was typed.
func (m *model) submit() {
	if strings.TrimSpace(m.editor.text) == "" || m.leaving {
		return
	}
	if path, ok := cutAttach(m.editor.text); ok {
		m.attach(path)
		return
	}
	if m.away != "" {
		m.notice = "telex is away: this stays here until it is back"
		return
	}
	if len(m.editor.text) > terminal.MaxInput {
		m.notice = "that is too long"
		return
	}
	m.asked++
	s := said{strconv.Itoa(m.asked), m.editor.take(), m.files}
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

func (m *model) say(s said) {
	if err := m.client.Say(s.id, s.text, s.files...); err != nil {
		m.notice = "telex could not be told" // the connection has ended: it is said again over the next one, if there is one
	}
}

// offers returns the names of commands that can be completed.
func offers(w terminal.Welcome) []string {
	if !w.Files || len(w.Commands) == 0 {
		return w.Commands
	}
	return append(slices.Clip(w.Commands), strings.TrimPrefix(attachCommand, "/"))
}
