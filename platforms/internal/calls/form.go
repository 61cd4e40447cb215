package calls

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"unicode"

	"telex/internal/chat"
)

// Form is the body of a request with a file. The file is not copied into it.
type Form struct {
	contentType      string
	head, file, tail []byte
}

// Field is a part of a form that is no file.
type Field struct {
	Name, MediaType, Value string // MediaType may be empty
}

// NewForm returns a form of fields and one file, which stands under a name of its own.
func NewForm(fields []Field, name string, f chat.File) *Form {
	var buf bytes.Buffer // whose writes never fail
	w := multipart.NewWriter(&buf)
	part := func(disposition, mediaType string) io.Writer {
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if mediaType != "" {
			header.Set("Content-Type", mediaType)
		}
		p, _ := w.CreatePart(header)
		return p
	}
	for _, field := range fields {
		_, _ = io.WriteString(part(`form-data; name="`+field.Name+`"`, field.MediaType), field.Value)
	}
	part(multipart.FileContentDisposition(name, FileName(f.Name)), mediaType(f.MediaType))
	head := buf.Len()
	_ = w.Close()
	all := buf.Bytes()
	return &Form{contentType: w.FormDataContentType(), head: all[:head:head], file: f.Content, tail: all[head:]}
}

// Fill makes the form the body of a request. The transport may read it again as long as the first connection that it
// tried took nothing of it.
func (f *Form) Fill(req *http.Request) {
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(f.head), bytes.NewReader(f.file), bytes.NewReader(f.tail))), nil
	}
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(f.head) + len(f.file) + len(f.tail))
	req.Header.Set("Content-Type", f.contentType)
}

// A file's name is short enough for every system it may be saved on, and keeps its extension. Telegram cuts what is before
// that to 60 characters: clean_filename in https://github.com/tdlib/td/blob/master/tdutils/td/utils/filesystem.cpp
const (
	maxFileName  = 60 // characters
	maxExtension = 16
)

// FileName returns a name that is one on every system: no path, nothing invisible, nothing that means something to a shell
// or a file system.
func FileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("<>:\"|?*&`'", r), !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return '_'
		}
		return r
	}, name)
	stem, extension := SplitName(strings.Trim(name, " ."))
	if runes := []rune(stem); len(runes)+len(extension) > maxFileName {
		stem = strings.TrimRight(string(runes[:maxFileName-len(extension)]), " .")
	}
	if stem == "" {
		stem = "file"
	}
	return stem + extension
}

// SplitName returns a file's name without its extension, and the extension.
func SplitName(name string) (stem, extension string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxExtension {
		return name[:i], name[i:]
	}
	return name, ""
}

// mediaType returns a type that can stand in a header.
func mediaType(t string) string {
	kind, options, err := mime.ParseMediaType(t)
	if err != nil {
		return "application/octet-stream"
	}
	return mime.FormatMediaType(kind, options)
}
