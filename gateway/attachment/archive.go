package attachment

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Limits of a document that is an archive of XML files. A file may unpack to a thousand times its size.
const (
	maxDirectory = 1 << 20  // bytes that the archive's list of files is read from
	maxUnpacked  = 48 << 20 // bytes of all files that are read
)

var errUnpacked = errors.New("the document unpacks to too much")

// archive is a document that consists of files in a ZIP archive.
type archive struct {
	ended func() error // of the context
	files map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

// openArchive reads an archive's list of files.
func openArchive(ctx context.Context, data []byte) (*archive, error) {
	at := &directoryReader{data: bytes.NewReader(data), left: maxDirectory}
	r, err := zip.NewReader(at, int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	at.left = maxFetched + maxUnpacked // contents are limited by left of the archive
	a := &archive{ended: ctx.Err, files: make(map[string]*zip.File, len(r.File)), left: maxUnpacked}
	for _, f := range r.File {
		a.files[f.Name] = f
	}
	return a, nil
}

// directoryReader limits how much is read.
type directoryReader struct {
	data *bytes.Reader
	left int
}

// ReadAt implements [io.ReaderAt].
func (r *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	if r.left -= len(p); r.left < 0 {
		return 0, errUnpacked
	}
	return r.data.ReadAt(p, at)
}

func (a *archive) has(name string) bool { return a.files[name] != nil }

// open opens a file of the archive. Reading it counts, and fails once the context has ended.
func (a *archive) open(name string) (io.ReadCloser, error) {
	f := a.files[name]
	if f == nil {
		return nil, fmt.Errorf("%w: %q is missing", ErrUnreadable, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return &unpacking{ReadCloser: r, archive: a}, nil
}

// unpacking reads a file of an archive.
type unpacking struct {
	io.ReadCloser
	archive *archive
}

// Read implements [io.Reader].
func (u *unpacking) Read(p []byte) (int, error) {
	if err := u.archive.ended(); err != nil {
		return 0, err
	}
	if u.archive.left <= 0 {
		return 0, errUnpacked
	}
	n, err := u.ReadCloser.Read(p[:min(int64(len(p)), u.archive.left)])
	u.archive.left -= int64(n)
	return n, err
}

// errEnough ends the reading of a file early.
var errEnough = errors.New("enough was read")

// walk reads an XML file of the archive and calls visit for each start, end and text; attributes are read with
// [attribute]. It keeps nothing of what it has read, so nesting costs nothing, and it knows no entities that the
// file declares. visit ends it with errEnough.
func (a *archive) walk(name string, visit func(xml.Token) error) error {
	r, err := a.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	d := xml.NewDecoder(r)
	d.Strict = false
	for {
		token, err := d.RawToken()
		if err == nil {
			err = visit(token)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errEnough):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s: %w", ErrUnreadable, name, err)
		}
	}
}

// attribute returns an attribute's value, whatever its namespace.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// linked returns the path of a file that another file of the archive links to.
func linked(from, to string) string {
	if strings.HasPrefix(to, "/") {
		return strings.TrimPrefix(path.Clean(to), "/")
	}
	return path.Join(path.Dir(from), to)
}
