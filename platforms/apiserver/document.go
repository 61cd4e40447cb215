package apiserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"telex/agent"
)

// Documents reads documents for models that can't; an *attachment.Reader does.
type Documents interface {
	// DocumentText returns the text of a document in a frame with the file's name; false if there is none that can be read.
	DocumentText(ctx context.Context, f agent.File) (text string, ok bool)
}

// maxDocuments is how many documents of a request are read, those of the newest messages. maxKnownBytes is how much is kept of what
// was read.
const (
	maxDocuments  = 10
	maxKnownBytes = 4 << 20
)

// documents reads documents, and keeps their texts for a while: clients send a document again with each request of a conversation,
// and the caches of providers want the same text, of which the frame is random.
type documents struct {
	reader Documents

	mu    sync.Mutex
	known map[[sha256.Size]byte]documentText
	order [][sha256.Size]byte // oldest first
	bytes int
}

// documentText is the text of a document. Without one, the file can't be read.
type documentText struct {
	text string
	ok   bool
}

func newDocuments(r Documents) documents {
	return documents{reader: r, known: make(map[[sha256.Size]byte]documentText)}
}

// read returns the text of a document.
func (d *documents) read(ctx context.Context, f agent.File) (string, bool) {
	key := sha256.Sum256(append([]byte(f.Name+"\x00"+f.MediaType+"\x00"), f.Content...))
	d.mu.Lock()
	t, found := d.known[key]
	d.mu.Unlock()
	if found {
		return t.text, t.ok
	}
	t.text, t.ok = d.reader.DocumentText(ctx, f)
	if ctx.Err() == nil { // else it was perhaps given up
		d.keep(key, t)
	}
	return t.text, t.ok
}

// keep remembers a text, and forgets the oldest ones.
func (d *documents) keep(key [sha256.Size]byte, t documentText) {
	const overhead = 256
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, found := d.known[key]; found {
		return
	}
	d.known[key], d.order, d.bytes = t, append(d.order, key), d.bytes+len(t.text)+overhead
	for d.bytes > maxKnownBytes {
		d.bytes -= len(d.known[d.order[0]].text) + overhead
		delete(d.known, d.order[0])
		d.order = d.order[1:]
	}
}

// replace puts the texts of documents in their place in messages. A file that can't be read remains: some models take it. APIs take
// files of users only, so those of tools are then mentioned.
func (d *documents) replace(ctx context.Context, messages []agent.Message) {
	left := maxDocuments
	for i := range slices.Backward(messages) {
		m := &messages[i]
		files := m.Files
		m.Files = nil
		for _, f := range files {
			text, ok := fmt.Sprintf("[file %s: not shown, only %d files of a request are]", f.Name, maxDocuments), true
			if left > 0 {
				left--
				text, ok = d.read(ctx, f)
			}
			if !ok && m.Role == agent.ToolRole {
				text, ok = fmt.Sprintf("[file %s: not shown, it can't be read]", f.Name), true
			}
			if ok {
				m.Text = paragraphs(m.Text, text)
			} else {
				m.Files = append(m.Files, f)
			}
		}
	}
}
