package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxBody is the largest request that is read, in bytes: an upload and its form.
const maxBody = 64 << 20

// params are the arguments of a call by name. Nested values are JSON text,
// whether they came as JSON or, as in forms, as a string that holds JSON.
type params struct {
	values map[string]string
	file   []byte // of an upload.
	// bare tells that a JSON body named no charset, which the platform warns about.
	bare bool
}

// readParams collects the arguments of the query and of the body. The error is an
// answer of the platform.
// Source: https://docs.slack.dev/apis/web-api/#post-bodies
func readParams(r *http.Request) (params, *apiError) {
	p := params{values: make(map[string]string)}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p, fail("invalid_arguments")
	}
	p.addForm(query)
	if r.Method != http.MethodPost || r.Body == nil {
		return p, nil
	}
	header := r.Header.Get("Content-Type")
	kind, options, err := mime.ParseMediaType(header)
	if err != nil && header != "" {
		return p, fail("invalid_post_type")
	}
	body := http.MaxBytesReader(nil, r.Body, maxBody)
	if kind == "multipart/form-data" {
		return p, p.addMultipart(body, options["boundary"])
	}
	data, err := io.ReadAll(body)
	switch {
	case err != nil:
		return p, fail("request_timeout")
	case kind == "application/json":
		p.bare = options["charset"] == ""
		return p, p.addJSON(data)
	case kind == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return p, fail("invalid_form_data")
		}
		p.addForm(form)
	case len(data) > 0 && strings.HasPrefix(r.URL.Path, uploadPath):
		p.file = data
	case len(data) > 0 && header == "":
		return p, fail("missing_post_type")
	case len(data) > 0:
		return p, fail("invalid_post_type")
	}
	return p, nil
}

func (p *params) addForm(form url.Values) {
	for name, values := range form {
		p.values[name] = values[len(values)-1]
	}
}

func (p *params) addJSON(data []byte) *apiError {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if !json.Valid(data) {
		return fail("invalid_json")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return fail("json_not_object")
	}
	for name, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			p.values[name] = text
		default:
			p.values[name] = string(raw)
		}
	}
	delete(p.values, "token") // a JSON body carries no token; the header does
	return nil
}

func (p *params) addMultipart(body io.Reader, boundary string) *apiError {
	if boundary == "" {
		return fail("invalid_form_data")
	}
	reader := multipart.NewReader(body, boundary)
	for {
		part, err := reader.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that was cut wraps io.EOF; only the bare one is its end.
			return nil
		}
		if err != nil {
			return fail("invalid_form_data")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fail("request_timeout")
		}
		if part.FileName() != "" {
			p.file = data
		} else {
			p.values[part.FormName()] = string(data)
		}
	}
}

// text is an argument; "" when absent.
func (p *params) text(name string) string { return p.values[name] }

// has tells whether an argument was given, be it empty.
func (p *params) has(name string) bool { _, ok := p.values[name]; return ok }

// integer reads a number; d when there is none.
func (p *params) integer(name string, d int) int {
	n, err := strconv.Atoi(strings.TrimSpace(p.values[name]))
	if err != nil {
		return d
	}
	return n
}

// flag reads a boolean as forms write it.
func (p *params) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(p.values[name])) {
	case "true", "1":
		return true
	}
	return false
}
