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
	maxProposal = 2000     // bytes of a call's description in the question for approval
	maxFullText = 64 << 10 // bytes of a call's description that people can read on demand
)

// needsApproval reports whether a person must approve a call. callContext is what the model had read before the call. If the
// tool's own check (ToolDef.Asks) panics, the call needs approval.
func needsApproval(p parsedCall, callContext CallContext) (needs bool) {
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
	return p.def.Asks(p.ToolCall, callContext)
}

// propose returns the proposal about which a person decides. The tool's description of the call contains text of the model,
// so propose makes hidden characters in it visible, too.
func propose(p parsedCall) Proposal {
	text := callDescription(p.def.Propose, p.Arguments)
	if !visible(text) {
		text = p.Name
		if p.Arguments != "{}" {
			text += " " + indentJSON(p.Arguments)
		}
	}
	out := Proposal{Call: p.ToolCall, Tool: p.Name, Text: plain(text, maxProposal), Version: p.def.version(), Standing: !p.def.ReadOnly, Personal: p.def.Personal}
	out.Whole = plain(text, maxFullText)
	out.Unreadable = len(plain(text, math.MaxInt)) > maxFullText
	return out
}

// maxIndentedDepth is the maximum nesting of JSON that is shown indented. With deeper nesting, the indentation could push the
// content out of sight, so the JSON is shown on one line.
const maxIndentedDepth = 8

// indentJSON formats an object for a person. indentJSON keeps the order of the names, and names that occur twice.
func indentJSON(object string) string {
	write := func(b *bytes.Buffer, o []byte) error { return json.Indent(b, o, "", "  ") }
	if nestingDepth(object) > maxIndentedDepth {
		write = json.Compact
	}
	var b bytes.Buffer
	if write(&b, []byte(object)) != nil {
		return object
	}
	return jsonString.ReplaceAllStringFunc(b.String(), unescapeString)
}

var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// nestingDepth returns how deeply objects and arrays are nested.
func nestingDepth(object string) (deepest int) {
	depth := 0
	for _, c := range jsonString.ReplaceAllString(object, "") {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// unescapeString replaces \u escapes in a JSON string by the escaped characters, because some servers escape all non-English
// letters.
func unescapeString(quoted string) string {
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

// version returns a hash of those properties of a tool on which an approval depends.
func (d ToolDef) version() string {
	hashed := slices.Concat([]byte(d.Name), []byte{0}, []byte(d.Description), []byte{0}, d.Parameters)
	if d.Revision != "" { // without a revision, the hash must equal the hashes in existing stores
		hashed = slices.Concat(hashed, []byte{0}, []byte(d.Revision))
	}
	sum := sha256.Sum256(hashed)
	return hex.EncodeToString(sum[:8])
}

// denial returns the text that the model reads as the result of a call that was not approved.
func denial(v Verdict) string {
	if v == TimedOut {
		return "Not done: nobody approved this call in time. Do not call it again unless you are asked to."
	}
	return "Not done: the person denied this call. Do not call it again unless you are asked to."
}
