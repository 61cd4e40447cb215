package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
)

// Errors of ReadForm.
var (
	ErrQuery     = errors.New("parse query")
	ErrType      = errors.New("parse content type")
	ErrRead      = errors.New("read body")
	ErrForm      = errors.New("parse form")
	ErrJSON      = errors.New("parse JSON")
	ErrNotObject = errors.New("parse JSON: object expected")
)

// Form contains the arguments of a call by name. An argument that is an object or an array is stored as JSON text. (In
// an HTML form, such an argument arrives as JSON text anyway.)
type Form struct {
	Values map[string]string
	Files  map[string]Upload
	// Kind is the media type of the body, and Options are its parameters; both may be empty.
	Kind    string
	Options map[string]string
	// Rest is the whole body if the body is neither JSON nor a form.
	Rest []byte
}

// Upload is a file in a form.
type Upload struct {
	Name, Type string
	Data       []byte
}

// ReadForm reads the arguments of the query and of the body. most is the maximum size of the body in bytes. An error
// means that the client's request is invalid, and wraps one of ErrQuery, ErrType and the errors that are declared
// beside these two. Even with an error, the returned form contains everything that was read before the error.
func ReadForm(r *http.Request, most int64) (Form, error) {
	f := Form{Values: make(map[string]string), Files: make(map[string]Upload)}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	f.add(query)
	if r.Body == nil || r.Method != http.MethodPost {
		return f, nil
	}
	header := r.Header.Get("Content-Type")
	if f.Kind, f.Options, err = mime.ParseMediaType(header); err != nil && header != "" {
		return f, fmt.Errorf("%w: %w", ErrType, err)
	}
	body := http.MaxBytesReader(nil, r.Body, most)
	if f.Kind == "multipart/form-data" {
		return f, ReadMultipart(body, f.Options["boundary"], f.part)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrRead, err)
	}
	switch f.Kind {
	case "application/json":
		return f, f.addJSON(data)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return f, fmt.Errorf("%w: %w", ErrForm, err)
		}
		f.add(form)
	default:
		f.Rest = data
	}
	return f, nil
}

// add adds the arguments of a form. If a name has several values, the last one counts.
func (f *Form) add(form url.Values) {
	for name, values := range form {
		f.Values[name] = values[len(values)-1]
	}
}

func (f *Form) addJSON(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(data, &fields)
	switch {
	case err != nil && !json.Valid(data):
		return fmt.Errorf("%w: %w", ErrJSON, err)
	case err != nil || fields == nil:
		return ErrNotObject
	}
	for name, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			f.Values[name] = text
		default:
			f.Values[name] = string(raw)
		}
	}
	return nil
}

func (f *Form) part(name string, u Upload) {
	if u.Name != "" {
		f.Files[name] = u
	} else {
		f.Values[name] = string(u.Data)
	}
}

// ReadMultipart passes each part of a form to the function take. A part that is not a file has an empty file name.
func ReadMultipart(body io.Reader, boundary string, take func(name string, u Upload)) error {
	if boundary == "" {
		return fmt.Errorf("%w: no boundary", ErrForm)
	}
	reader := multipart.NewReader(body, boundary)
	for {
		part, err := reader.NextPart()
		if err == io.EOF { //nolint:errorlint // the end of a form is io.EOF itself; a truncated form wraps io.EOF
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrForm, err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRead, err)
		}
		take(part.FormName(), Upload{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Data: data})
	}
}
