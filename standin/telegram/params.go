package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxBody is the largest request that is read: the largest upload and its form.
const maxBody = maxUpload + 1<<20

// params are the parameters of a call by name. Nested values are JSON text,
// whether they came as JSON or, as in forms, as a string that holds JSON.
type params struct {
	values map[string]string
	files  map[string]upload
}

type upload struct {
	name string
	data []byte
}

// readParams collects the parameters of the query and of the body. An error is
// the client's.
func readParams(r *http.Request) (params, error) {
	p := params{values: make(map[string]string), files: make(map[string]upload)}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p, fmt.Errorf("parse query: %w", err)
	}
	p.addForm(query)
	if r.Body == nil || r.Method != http.MethodPost {
		return p, nil
	}
	header := r.Header.Get("Content-Type")
	kind, options, err := mime.ParseMediaType(header)
	if err != nil && header != "" {
		return p, fmt.Errorf("parse content type: %w", err)
	}
	body := http.MaxBytesReader(nil, r.Body, maxBody)
	if kind == "multipart/form-data" {
		return p, p.addMultipart(body, options["boundary"])
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return p, fmt.Errorf("read body: %w", err)
	}
	switch kind {
	case "application/json":
		return p, p.addJSON(data)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return p, fmt.Errorf("parse form: %w", err)
		}
		p.addForm(form)
	}
	return p, nil
}

func (p *params) addForm(form url.Values) {
	for name, values := range form {
		p.values[name] = values[len(values)-1]
	}
}

func (p *params) addJSON(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("parse JSON: %w", err)
	}
	if object == nil {
		return errors.New("parse JSON: object expected")
	}
	for name, raw := range object {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			p.values[name] = text
		default:
			p.values[name] = string(raw)
		}
	}
	return nil
}

// text is a string parameter; "" when absent.
func (p *params) text(name string) string { return p.values[name] }

func (p *params) has(name string) bool { return p.values[name] != "" }

// integer reads a number as leniently as the platform: garbage is 0.
func (p *params) integer(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(p.values[name]), 10, 64)
	return n
}

// flag reads a boolean as the platform does.
func (p *params) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(p.values[name])) {
	case "true", "yes", "1":
		return true
	}
	return false
}

// object decodes a nested value; false when it is absent.
func (p *params) object(name string, into any) (bool, error) {
	text := p.values[name]
	if strings.TrimSpace(text) == "" {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return false, fmt.Errorf("parse %s: %w", name, err)
	}
	return true, nil
}
