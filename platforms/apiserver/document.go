package apiserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"telex/agent"
)

// Documents extracts the text of documents, because many models can't read document files. *attachment.Reader
// implements it.
type Documents interface {
	// DocumentText returns the text of a document between two marker lines. The first marker line contains the file's
	// name. DocumentText returns false if it can't read the document.
	DocumentText(ctx context.Context, f agent.File) (text string, ok bool)
}

// maxDocuments is the maximum number of documents that the server reads for one request. The server reads the documents
// of the newest messages first. maxKnownBytes limits the total size of the remembered texts of documents in bytes.
const (
	maxDocuments  = 10
	maxKnownBytes = 4 << 20
)

// documents reads documents and remembers their texts. A client sends the same document again with each request of a
// conversation. For a repeated document, the server reuses the remembered text, including the random characters in the
// marker lines. Because the text stays the same in successive requests, the model provider can use its prompt cache.
type documents struct {
	reader Documents

	mu    sync.Mutex
	texts map[[sha256.Size]byte]documentText
	order [][sha256.Size]byte // oldest first
	bytes int
}

// documentText is the text of a document. ok is false if the file can't be read.
type documentText struct {
	text string
	ok   bool
}

func newDocuments(r Documents) documents {
	return documents{reader: r, texts: make(map[[sha256.Size]byte]documentText)}
}

// read returns the text of a document, either remembered or newly extracted.
func (d *documents) read(ctx context.Context, f agent.File) (string, bool) {
	key := sha256.Sum256(append([]byte(f.Name+"\x00"+f.MediaType+"\x00"), f.Content...))
	d.mu.Lock()
	t, found := d.texts[key]
	d.mu.Unlock()
	if found {
		return t.text, t.ok
	}
	t.text, t.ok = d.reader.DocumentText(ctx, f)
	if ctx.Err() == nil { // if ctx has ended, that may be why there is no text, so do not remember the result
		d.remember(key, t)
	}
	return t.text, t.ok
}

// remember stores the text of a document in memory. If the remembered texts then exceed maxKnownBytes in total,
// remember deletes the oldest texts.
func (d *documents) remember(key [sha256.Size]byte, t documentText) {
	const overhead = 256
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, found := d.texts[key]; found {
		return
	}
	d.texts[key], d.order, d.bytes = t, append(d.order, key), d.bytes+len(t.text)+overhead
	for d.bytes > maxKnownBytes {
		d.bytes -= len(d.texts[d.order[0]].text) + overhead
		delete(d.texts, d.order[0])
		d.order = d.order[1:]
	}
}

// replace replaces the documents in messages with the texts of the documents. If the server can't read a file, replace
// keeps the file, because some models can read it. Providers accept files only in users' messages, so in the result of
// a tool, replace replaces an unreadable file with a line that names the file.
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
