package screentest

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// maxWait limits how long Await waits. A successful test waits much less than maxWait.
const maxWait = 60 * time.Second

// Screen is an emulated terminal. A call of Write returns after the terminal has processed the written data.
type Screen struct {
	mu      sync.Mutex
	vt      *vt.Emulator
	hidden  bool          // the cursor is hidden
	changed chan struct{} // each write closes this channel and makes a new channel
	watch   func(lines []string)
}

// New returns a screen. Some programs send queries to the terminal. Until the test ends, the screen writes its replies
// to such queries to answers. After each write of the program, the screen calls the function watch with the lines of
// the screen. The parameter watch may be nil.
func New(t *testing.T, width, height int, answers io.Writer, watch func(lines []string)) *Screen {
	s := &Screen{vt: vt.NewEmulator(width, height), changed: make(chan struct{}), watch: watch}
	s.vt.SetCallbacks(vt.Callbacks{CursorVisibility: func(on bool) { s.hidden = !on }})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(answers, s.vt) // Copy ends when the input pipe of the emulator is closed
	}()
	t.Cleanup(func() {
		if c, ok := s.vt.InputPipe().(io.Closer); ok { // closing the emulator itself would cause a data race with its readers
			_ = c.Close()
		}
		<-answered
	})
	return s
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.vt.Write(p)
	if s.watch != nil {
		s.watch(s.lines())
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return n, err
}

// Resize changes the size of the screen without wrapping lines again.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vt.Resize(width, height)
}

// Reflow changes the size of the screen as most terminals do. Reflow wraps lines that are longer than the new width,
// and keeps the cursor at its position in the text. Lines for which the screen has no room move to the scrollback.
// Unlike a real terminal, Reflow removes the styles of the text.
func (s *Screen) Reflow(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, l := range s.vt.Scrollback().Lines() {
		lines = append(lines, text(l))
	}
	cursor := s.vt.CursorPosition()
	at := len(lines) + cursor.Y
	for row := range strings.SplitSeq(s.vt.String(), "\n") {
		lines = append(lines, strings.TrimRight(row, " \r"))
	}
	for len(lines) > at+1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	s.vt.Resize(width, height)
	up := 0
	for _, l := range lines[at+1:] {
		up += max(1, (ansi.StringWidth(l)+width-1)/width)
	}
	up += max(0, (ansi.StringWidth(lines[at])-1)/width) - cursor.X/width
	_, _ = s.vt.WriteString("\x1b[H\x1b[2J")
	s.vt.ClearScrollback()
	_, _ = s.vt.WriteString(strings.Join(lines, "\r\n"))
	if up > 0 {
		_, _ = fmt.Fprintf(s.vt, "\x1b[%dA", up)
	}
	_, _ = fmt.Fprintf(s.vt, "\x1b[%dG", cursor.X%width+1)
	close(s.changed)
	s.changed = make(chan struct{})
}

// CursorShown reports whether the terminal's cursor is visible.
func (s *Screen) CursorShown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.hidden
}

// Visible returns the rows of the screen, without the scrollback.
func (s *Screen) Visible() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []string
	for row := range strings.SplitSeq(s.vt.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " \r"))
	}
	return rows
}

// Lines returns the scrollback and the screen, without trailing blanks and trailing blank lines.
func (s *Screen) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines()
}

func (s *Screen) lines() []string {
	var lines []string
	for _, l := range s.vt.Scrollback().Lines() {
		lines = append(lines, text(l))
	}
	for row := range strings.SplitSeq(s.vt.String(), "\n") {
		lines = append(lines, strings.TrimRight(row, " \r"))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func text(l uv.Line) string {
	var b strings.Builder
	for _, c := range l {
		switch {
		case c.Width == 0: // the cell is the second cell of a wide character
		case c.Content == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.Content)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Await waits until the function ok returns true for the lines of the screen, and returns these lines. If ok does not
// return true within maxWait, the test fails.
func (s *Screen) Await(t *testing.T, what string, ok func(lines []string) bool) []string {
	t.Helper()
	deadline := time.NewTimer(maxWait) //nolint:forbidigo // a test whose condition never becomes true must end
	defer deadline.Stop()
	for {
		s.mu.Lock()
		lines, changed := s.lines(), s.changed
		s.mu.Unlock()
		if ok(lines) {
			return lines
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("%s did not come; on the screen:\n%s", what, strings.Join(lines, "\n"))
		}
	}
}

// Has returns a condition for Await. The condition that Has returns is true if a line of the screen contains part.
func Has(part string) func(lines []string) bool {
	return func(lines []string) bool { return Count(lines, part) > 0 }
}

// Count returns the number of lines that contain part.
func Count(lines []string, part string) int {
	n := 0
	for _, l := range lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}
