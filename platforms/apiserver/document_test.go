package apiserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"telex/agent"
)

// numbered implements Documents for tests. Each time numbered reads a document, numbered returns a text that begins
// with the next number.
type numbered struct{ read int }

func (n *numbered) DocumentText(_ context.Context, f agent.File) (string, bool) {
	n.read++
	return fmt.Sprintf("%d%s", n.read, f.Content), len(f.Content) > 0
}

// The test passes the same document twice. When a document arrives again, the server must return the same text without
// reading the document again. The server may remember only a limited amount of documents' text.
func TestDocumentsAreReadOnce(t *testing.T) {
	t.Parallel()
	reader := &numbered{}
	d := newDocuments(reader)
	read := func(name, content, want string) {
		t.Helper()
		m := []agent.Message{{Role: agent.User, Files: []agent.File{{Name: name, Content: []byte(content)}}}}
		d.replace(t.Context(), m)
		if m[0].Text != want || want == "" != (len(m[0].Files) == 1) {
			t.Errorf("%s: got %.100q, %d files, want %.100q", name, m[0].Text, len(m[0].Files), want)
		}
	}
	for range 2 {
		read("a", "x", "1x")
		read("b", "x", "2x")
		read("scan", "", "")
	}
	if reader.read != 3 {
		t.Errorf("%d documents were read, want 3", reader.read)
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	d.read(given, agent.File{Name: "late"})
	read("late", "", "")
	if reader.read != 5 {
		t.Errorf("a reading that was given up was kept")
	}
	large := strings.Repeat("y", 100<<10)
	for i := range 100 {
		read(fmt.Sprint(i), large, fmt.Sprint(i+6)+large)
	}
	if len(d.texts) != len(d.order) || d.bytes > maxKnownBytes || len(d.texts) < 30 {
		t.Errorf("%d texts of %d bytes are kept", len(d.texts), d.bytes)
	}
	read("a", "x", "106x")
}
