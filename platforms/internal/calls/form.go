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

// Form is the body of a request that contains a file. A Form does not copy the file's content.
type Form struct {
	contentType      string
	head, file, tail []byte
}

// Field is a field of a form that is not a file.
type Field struct {
	Name, MediaType, Value string // MediaType may be empty
}

// NewForm returns a form with the given fields and one more field, called name, which contains the file f.
func NewForm(fields []Field, name string, f chat.File) *Form {
	var buf bytes.Buffer // writes to a bytes.Buffer never fail
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

// Fill sets the body of a request to the form. Fill also sets GetBody, so that the transport can read the form again if
// it could not write the form to the first connection.
func (f *Form) Fill(req *http.Request) {
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(f.head), bytes.NewReader(f.file), bytes.NewReader(f.tail))), nil
	}
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(f.head) + len(f.file) + len(f.tail))
	req.Header.Set("Content-Type", f.contentType)
}

// These constants limit the length of file names. File names within the limits of these constants are short enough for
// every file system. Telegram cuts the part of a file name before the extension to 60 characters: clean_filename in
// https://github.com/tdlib/td/blob/master/tdutils/td/utils/filesystem.cpp
const (
	maxFileName  = 60 // characters
	maxExtension = 16
)

// FileName returns a name that is valid on every system: without a path, invisible characters, or characters with a
// meaning for a shell or file system.
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

// SplitName returns the name of a file without the extension, and the extension.
func SplitName(name string) (stem, extension string) {
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxExtension {
		return name[:i], name[i:]
	}
	return name, ""
}

// mediaType returns t if it is a valid media type for a header, and otherwise a generic type.
func mediaType(t string) string {
	kind, options, err := mime.ParseMediaType(t)
	if err != nil {
		return "application/octet-stream"
	}
	return mime.FormatMediaType(kind, options)
}
