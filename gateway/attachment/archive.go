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

// Limits of a document that is an archive of compressed XML files. The limits are needed because a file can become a
// thousand times larger when it is uncompressed.
const (
	maxDirectory = 1 << 20  // maximum number of bytes that are read for the archive's list of files
	maxUnpacked  = 48 << 20 // maximum number of uncompressed bytes of all files together
)

var errUnpacked = errors.New("the document unpacks to too much")

// archive is a document that consists of files in a ZIP archive.
type archive struct {
	ctxErr    func() error // the Err method of the context
	files     map[string]*zip.File
	remaining int64 // number of bytes that may still be uncompressed
}

// openArchive reads an archive's list of files.
func openArchive(ctx context.Context, data []byte) (*archive, error) {
	at := &directoryReader{data: bytes.NewReader(data), left: maxDirectory}
	r, err := zip.NewReader(at, int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	at.left = maxFetched + maxUnpacked // from now on, archive.remaining limits how much is read
	a := &archive{ctxErr: ctx.Err, files: make(map[string]*zip.File, len(r.File)), remaining: maxUnpacked}
	for _, f := range r.File {
		a.files[f.Name] = f
	}
	return a, nil
}

// directoryReader limits how many bytes of the archive are read.
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

// open opens a file of the archive. Reading the file reduces archive.remaining. Reading fails when archive.remaining is
// used up, or after the context has ended.
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

// unpacking reads one file of an archive and uncompresses it.
type unpacking struct {
	io.ReadCloser
	archive *archive
}

// Read implements [io.Reader].
func (u *unpacking) Read(p []byte) (int, error) {
	if err := u.archive.ctxErr(); err != nil {
		return 0, err
	}
	if u.archive.remaining <= 0 {
		return 0, errUnpacked
	}
	n, err := u.ReadCloser.Read(p[:min(int64(len(p)), u.archive.remaining)])
	u.archive.remaining -= int64(n)
	return n, err
}

// errEnough ends the reading of a file early without an error.
var errEnough = errors.New("enough was read")

// walk reads an XML file of the archive and calls the parameter visit for each start, end and text; [attribute] reads
// attributes. walk keeps no tree of elements, so deeply nested elements need no memory. walk ignores entities that the
// file declares. If the function visit returns errEnough, the walk ends without an error.
func (a *archive) walk(name string, visit func(xml.Token) error) error {
	r, err := a.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // an error of Close does not matter after reading
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

// attribute returns an attribute's value and ignores its namespace.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// resolveLink returns the path of the file to which a link in another file of the archive refers. The parameter from is
// the path of the file that contains the link, and to is the link.
func resolveLink(from, to string) string {
	if strings.HasPrefix(to, "/") {
		return strings.TrimPrefix(path.Clean(to), "/")
	}
	return path.Join(path.Dir(from), to)
}
