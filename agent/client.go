package agent

import (
	"cmp"
	"slices"
	"strings"
)

// clientCalls is the state of the calls of Turn.ClientTools in the answer that the model is writing.
type clientCalls struct {
	sentArguments map[string]string // the arguments emitted so far, by call id
	handedBack    bool              // the turn ends, because the caller runs the answer's calls
}

// emitNew emits the part of a call that has not been emitted yet. While the model is writing, emitNew emits nothing until the
// arguments begin, because the provider may still be sending pieces of the name.
func (c *clientCalls) emitNew(emit func(Event), call Call, complete bool) {
	sent, started := c.sentArguments[call.ID]
	fresh, extends := strings.CutPrefix(call.Arguments, sent)
	if !extends || started && fresh == "" || !complete && call.Arguments == "" {
		return // emitted arguments can't be changed
	}
	if c.sentArguments == nil {
		c.sentArguments = make(map[string]string)
	}
	c.sentArguments[call.ID] = call.Arguments
	call.Arguments = validUTF8(fresh)
	emit(call)
}

// handBack ends the turn if the answer calls client tools, and reports whether the turn ends. If the turn ends, the last
// message of the history is the model's message with these calls.
func (r *run) handBack(c Completion) bool {
	message := Message{Role: Assistant, Reasoning: r.reply.reasoning.String()}
	for _, call := range c.ToolCalls {
		if !slices.ContainsFunc(r.tools, func(t ToolDef) bool { return t.client && t.Name == call.Name }) {
			continue
		}
		call.ID = r.ids.turnID(call.ID)
		if slices.ContainsFunc(message.ToolCalls, func(c ToolCall) bool { return c.ID == call.ID }) {
			call.ID = r.ids.unique(call.ID)
		}
		message.ToolCalls = append(message.ToolCalls, call)
	}
	if len(message.ToolCalls) == 0 {
		return false
	}
	r.reply.close()
	message.Text = r.reply.answerText()
	r.reply = r.reply.nextAnswer()
	for i, call := range message.ToolCalls {
		r.client.emitNew(r.emit, Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments}, true)
		if sent, ok := r.client.sentArguments[call.ID]; ok {
			call.Arguments = sent
		}
		call.Arguments, _ = parseArguments(call.Arguments) // providers refuse invalid arguments in a history
		message.ToolCalls[i] = call
	}
	r.statuses.failUnfinished() // calls of the agent's own tools in this answer do not run
	r.appendHistory(message)
	r.answerIndex, r.client.handedBack = len(r.newMessages), true
	return true
}

// isCommitted reports whether the caller already has a part of the answer that can't be replaced any more.
func (r *run) isCommitted() bool {
	return r.turn.Live && !r.innerNode && (r.reply.text.Len() > 0 || len(r.client.sentArguments) > 0)
}

// withParams adds the parameters of Turn.Params to a request.
func (r *run) withParams(request Request) Request {
	request.Live = r.turn.Live && !r.innerNode
	if r.innerNode {
		return request
	}
	request.Params = r.turn.Params
	if limit := request.Params.MaxOutput; limit > 0 {
		request.MaxOutput = min(limit, cmp.Or(request.MaxOutput, limit))
	}
	if len(r.tools) == 0 {
		request.Params.MustCall, request.Params.MustCallName, request.Params.ParallelToolCalls = false, "", nil
	}
	return request
}

// withClientTools puts a client's tools before the agent's own. A client's tool replaces the agent's tool of the same
// name.
func withClientTools(client []ToolSpec, own []ToolDef) []ToolDef {
	if len(client) == 0 {
		return own
	}
	all := make([]ToolDef, 0, len(client)+len(own))
	for _, t := range client {
		all = append(all, ToolDef{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Outside: OutsideResults, client: true})
	}
	for _, d := range own {
		if !slices.ContainsFunc(client, func(t ToolSpec) bool { return t.Name == d.Name }) {
			all = append(all, d)
		}
	}
	return all
}

// clientTools returns only the client's tools. The limit of tool calls does not apply to client tools, because a call of a
// client tool ends the turn.
func clientTools(tools []ToolDef) []ToolDef {
	return slices.DeleteFunc(tools, func(d ToolDef) bool { return !d.client })
}
