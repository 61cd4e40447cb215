package telegram

import (
	"encoding/json"
	"strconv"
	"strings"

	"telex/standin/rig"
)

// maxBody is the maximum size of a request in bytes: the size of the largest upload, and 1 MiB for the form around it.
const maxBody = maxUpload + 1<<20

// params are the parameters of a call.
type params struct{ rig.Form }

// text returns a string parameter, or "" if it is absent.
func (p *params) text(name string) string { return p.Values[name] }

func (p *params) has(name string) bool { return p.Values[name] != "" }

// integer parses a number as leniently as Telegram: it returns 0 for an invalid number.
func (p *params) integer(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(p.Values[name]), 10, 64)
	return n
}

// flag parses a boolean with the words that Telegram accepts.
func (p *params) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(p.Values[name])) {
	case "true", "yes", "1":
		return true
	}
	return false
}

// object decodes a parameter that contains JSON. If the JSON is invalid, object refuses the call with the error
// refusal. object returns false if the parameter is absent.
func (p *params) object(name string, into any, refusal *apiError) bool {
	text := p.Values[name]
	if strings.TrimSpace(text) == "" {
		return false
	}
	rig.RefuseIf(json.Unmarshal([]byte(text), into) != nil, refusal)
	return true
}
