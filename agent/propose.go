package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// mostProposal bounds, in bytes, what of a call's arguments a person is shown.
const mostProposal = 2000

// needsApproval says whether a person must decide about a call, going by the conversation. A tool that
// fails at saying so needs approval.
func needsApproval(p parsedCall, said []Message) (needs bool) {
	if !p.def.ReadOnly {
		return true
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

// propose makes a proposal of a call.
func propose(p parsedCall) Proposal {
	text := proposed(p)
	if text == "" {
		text = p.Name
		if p.Arguments != "{}" {
			text += " " + indented(p.Arguments)
		}
	}
	return Proposal{Call: p.ToolCall, Tool: p.Name, Text: text}
}

func proposed(p parsedCall) (text string) {
	if p.def.Propose == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return p.def.Propose(p.Arguments)
}

func indented(object string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(object), "", "  ") != nil {
		return object
	}
	if b.Len() <= mostProposal {
		return b.String()
	}
	return fmt.Sprintf("%s (%d bytes in all)", head(b.String(), mostProposal), len(object))
}

// denial says to the model that a call was not run.
func denial(v Verdict) string {
	if v == TimedOut {
		return "Not done: nobody approved this call in time. Do not call it again unless you are asked to."
	}
	return "Not done: the person denied this call. Do not call it again unless you are asked to."
}
