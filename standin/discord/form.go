package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"telex/standin/rig"
)

const (
	// maxRequest is the maximum size of a request in bytes, and maxFile is the maximum size of a file in a request.
	// Source: https://docs.discord.com/developers/reference#uploading-files
	maxRequest = 25 << 20
	maxFile    = 10 << 20
	// maxFiles is the maximum number of files in a message.
	maxFiles = 10
)

// readBody reads the JSON of a request and its files.
func readBody(r *http.Request) (json.RawMessage, map[int]rig.Upload, *apiError) {
	body := http.MaxBytesReader(nil, r.Body, maxRequest)
	kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var (
		payload []byte
		files   map[int]rig.Upload
		err     error
	)
	if kind == "multipart/form-data" {
		payload, files, err = readMultipart(body, args["boundary"])
	} else {
		payload, err = io.ReadAll(body)
	}
	payload = bytes.TrimSpace(payload)
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		_, _ = io.Copy(io.Discard, r.Body) // read the body to its end, because the client may lose the response otherwise
		return nil, nil, requestTooLarge()
	case err != nil:
		return nil, nil, fail(http.StatusBadRequest, codeInvalidForm, "Invalid Form Body")
	case len(payload) == 0:
		return nil, files, nil
	case !json.Valid(payload):
		return nil, nil, fail(http.StatusBadRequest, codeInvalidJSON, "The request body contains invalid JSON.")
	}
	for _, f := range files {
		if len(f.Data) > maxFile {
			return nil, nil, requestTooLarge()
		}
	}
	return payload, files, nil
}

func requestTooLarge() *apiError {
	return fail(http.StatusRequestEntityTooLarge, codeTooLarge, "Request entity too large")
}

// readMultipart reads payload_json and the files named files[n].
func readMultipart(body io.Reader, boundary string) (payload []byte, files map[int]rig.Upload, err error) {
	files = make(map[int]rig.Upload)
	err = rig.ReadMultipart(body, boundary, func(name string, u rig.Upload) {
		if name == "payload_json" {
			payload = u.Data
			return
		}
		digits, found := strings.CutPrefix(strings.TrimSuffix(name, "]"), "files[")
		if n, err := strconv.Atoi(digits); found && err == nil && n >= 0 && u.Name != "" {
			files[n] = u // like Discord, ignore parts with other names
		}
	})
	return payload, files, err
}

// form decodes the fields of a JSON object and collects errors.
type form struct {
	fields map[string]json.RawMessage
	path   []string
	errs   *formErrors
}

// readForm returns the form of a JSON object. readForm adds an error if the value is not an object.
func readForm(data json.RawMessage, errs *formErrors, path ...string) form {
	f := form{path: path, errs: errs}
	if len(data) == 0 {
		return f
	}
	if err := json.Unmarshal(data, &f.fields); err != nil {
		*errs = append(*errs, formError{path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType"})
	}
	return f
}

func (f form) bad(code, message string, path ...string) {
	*f.errs = append(*f.errs, formError{slices.Concat(f.path, path), code, message})
}

// badIf adds an error to the form if broken is true.
func (f form) badIf(broken bool, code, message string, path ...string) {
	if broken {
		f.bad(code, message, path...)
	}
}

// has reports whether a field is present and not null.
func (f form) has(name string) bool {
	v, ok := f.fields[name]
	return ok && string(v) != "null"
}

// isSet reports whether a field is present, even if its value is null.
func (f form) isSet(name string) bool { _, ok := f.fields[name]; return ok }

// text decodes a string. least and most are its minimum and maximum length in characters. If least is 0, the field may
// be missing. Discord counts code points as characters: https://github.com/discord/discord-api-docs/issues/1315.
func (f form) text(name string, least, most int) string {
	if !f.has(name) {
		f.badIf(least > 0, "BASE_TYPE_REQUIRED", "This field is required", name)
		return ""
	}
	var s string
	if err := json.Unmarshal(f.fields[name], &s); err != nil {
		var n json.Number // like Discord, convert numbers to strings
		if json.Unmarshal(f.fields[name], &n) != nil {
			f.bad("STRING_TYPE_CONVERT", fmt.Sprintf("Could not interpret \"%s\" as string.", f.fields[name]), name)
			return ""
		}
		s = n.String()
	}
	switch n := utf8.RuneCountInString(s); {
	case n > most && least > 0, n < least:
		f.bad("BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", least, most), name)
	case n > most:
		f.bad("BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", most), name)
	}
	return s
}

// integer decodes a field that is an integer. integer returns 0 if the field is missing.
func (f form) integer(name string) int {
	if !f.has(name) {
		return 0
	}
	n, err := strconv.Atoi(strings.Trim(string(f.fields[name]), `"`))
	f.badIf(err != nil, "NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not int.", f.fields[name]), name)
	return n
}

// flag decodes a field that is a boolean. If the field is missing, flag returns the default value, which is the
// argument otherwise.
func (f form) flag(name string, otherwise bool) bool {
	if !f.has(name) {
		return otherwise
	}
	b, err := strconv.ParseBool(string(f.fields[name]))
	f.badIf(err != nil, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.", name)
	return b
}

// snowflake decodes a field that is an id. snowflake returns "" if the field is missing.
func (f form) snowflake(name string) string {
	if !f.has(name) {
		return ""
	}
	id := strings.Trim(string(f.fields[name]), `"`)
	if !isSnowflake(id) {
		f.bad("NUMBER_TYPE_COERCE", fmt.Sprintf("Value %q is not snowflake.", id), name)
		return ""
	}
	return id
}

// list decodes a field that is an array. The parameter most is the maximum number of elements.
func (f form) list(name string, most int) []json.RawMessage {
	if !f.has(name) {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(f.fields[name], &list); err != nil {
		f.bad("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType", name)
		return nil
	}
	if len(list) > most {
		f.bad("BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", most), name)
		return nil
	}
	return list
}

// texts decodes an array of strings.
func (f form) texts(name string, most int) []string {
	list := f.list(name, most)
	if list == nil {
		return nil
	}
	texts := make([]string, 0, len(list))
	for i, item := range list {
		var s string
		if err := json.Unmarshal(item, &s); err != nil {
			f.bad("STRING_TYPE_CONVERT", fmt.Sprintf("Could not interpret \"%s\" as string.", item), name, strconv.Itoa(i))
		}
		texts = append(texts, s)
	}
	return texts
}

// sub returns the form of a field that is an object.
func (f form) sub(name string) form {
	if !f.has(name) {
		return form{path: append(slices.Clone(f.path), name), errs: f.errs}
	}
	return readForm(f.fields[name], f.errs, append(slices.Clone(f.path), name)...)
}

// forms decodes a field that is an array of objects. The parameter most is the maximum number of objects.
func (f form) forms(name string, most int) []form {
	var list []form
	for i, data := range f.list(name, most) {
		list = append(list, readForm(data, f.errs, append(slices.Clone(f.path), name, strconv.Itoa(i))...))
	}
	return list
}
