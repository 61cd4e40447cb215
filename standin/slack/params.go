package slack

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"telex/standin/rig"
)

// maxBody is the maximum size of a request in bytes. maxBody is large because a request may upload a file in a form.
const maxBody = 64 << 20

// params are the arguments of a call.
type params struct {
	rig.Form
	file []byte // the content of an uploaded file
	// noCharset means that the content type of a JSON body has no charset. If noCharset is set, the stand-in adds a
	// warning to the response, as Slack does.
	noCharset bool
}

// readParams collects the arguments of the query and of the body. Source:
// https://docs.slack.dev/apis/web-api/#post-bodies
func readParams(r *http.Request) (p params, aerr *apiError) {
	var err error
	p.Form, err = rig.ReadForm(r, maxBody)
	for _, bad := range []struct {
		err  error
		code string
	}{
		{rig.ErrQuery, "invalid_arguments"},
		{rig.ErrType, "invalid_post_type"},
		{rig.ErrRead, "request_timeout"},
		{rig.ErrForm, "invalid_form_data"},
		{rig.ErrJSON, "invalid_json"},
		{rig.ErrNotObject, "json_not_object"},
	} {
		if errors.Is(err, bad.err) {
			return p, fail(bad.code)
		}
	}
	for _, f := range p.Files {
		p.file = f.Data
	}
	switch {
	case p.Kind == "application/json":
		p.noCharset = p.Options["charset"] == ""
		delete(p.Values, "token") // with a JSON body, Slack accepts the token only in the header
	case len(p.Rest) == 0:
	case strings.HasPrefix(r.URL.Path, uploadPath):
		p.file = p.Rest
	case p.Kind == "":
		return p, fail("missing_post_type")
	default:
		return p, fail("invalid_post_type")
	}
	return p, nil
}

// text returns an argument, or "" if it is absent.
func (p *params) text(name string) string { return p.Values[name] }

// has reports whether an argument is present, even if its value is empty.
func (p *params) has(name string) bool { _, ok := p.Values[name]; return ok }

// integer parses an argument that is an integer. integer returns d if the argument is absent or not an integer.
func (p *params) integer(name string, d int) int {
	n, err := strconv.Atoi(strings.TrimSpace(p.Values[name]))
	if err != nil {
		return d
	}
	return n
}

// flag parses an argument that is a boolean. In forms, Slack accepts "true" and "1".
func (p *params) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(p.Values[name])) {
	case "true", "1":
		return true
	}
	return false
}
