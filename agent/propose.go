package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"slices"
)

const (
	maxProposal = 2000     // in bytes: what a question shows of a call
	maxWhole    = 64 << 10 // and what people can read of it when they want to
)

// needsApproval reports whether a person must decide about a call, going by what the model reads. A tool that
// fails at saying so needs approval.
func needsApproval(p parsedCall, said Said) (needs bool) {
	if !p.def.ReadOnly {
		return !p.def.AutoApprove
	}
	if p.def.Asks == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			needs = true
		}
	}()
	return p.def.Asks(p.ToolCall, said)
}

// propose makes a proposal of a call. What a tool says of it is made of what the model wrote, and no more
// to be trusted than that.
func propose(p parsedCall) Proposal {
	text := words(p.def.Propose, p.Arguments)
	if !visible(text) {
		text = p.Name
		if p.Arguments != "{}" {
			text += " " + indented(p.Arguments)
		}
	}
	out := Proposal{Call: p.ToolCall, Tool: p.Name, Text: plain(text, maxProposal), Version: p.def.version(), Standing: !p.def.ReadOnly, Personal: p.def.Personal}
	out.Whole = plain(text, maxWhole)
	out.Unreadable = len(plain(text, math.MaxInt)) > maxWhole
	return out
}

// maxNested is how deep an object may be that is shown indented: the space before its lines would outgrow what
// it says, up to the square of it, and push that out of sight.
const maxNested = 8

// indented returns an object as a person can read it, its names in the order and as often as the model
// wrote them.
func indented(object string) string {
	write := func(b *bytes.Buffer, o []byte) error { return json.Indent(b, o, "", "  ") }
	if nested(object) > maxNested {
		write = json.Compact
	}
	var b bytes.Buffer
	if write(&b, []byte(object)) != nil {
		return object
	}
	return jsonString.ReplaceAllStringFunc(b.String(), unescaped)
}

var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// nested returns how deep objects and arrays are in each other.
func nested(object string) (most int) {
	depth := 0
	for _, c := range jsonString.ReplaceAllString(object, "") {
		switch c {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}

// unescaped returns a string of JSON with the letters themselves where numbers stood for them: some
// servers escape whatever is not English.
func unescaped(quoted string) string {
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil {
		return quoted
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return quoted
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// version is a hash of what a tool says of itself.
func (d ToolDef) version() string {
	said := slices.Concat([]byte(d.Name), []byte{0}, []byte(d.Description), []byte{0}, d.Parameters)
	if d.Revision != "" { // else the approvals that stand in stores hold on
		said = slices.Concat(said, []byte{0}, []byte(d.Revision))
	}
	sum := sha256.Sum256(said)
	return hex.EncodeToString(sum[:8])
}

// denial says to the model that a call was not run.
func denial(v Verdict) string {
	if v == TimedOut {
		return "Not done: nobody approved this call in time. Do not call it again unless you are asked to."
	}
	return "Not done: the person denied this call. Do not call it again unless you are asked to."
}
