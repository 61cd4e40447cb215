package agent

import (
	"cmp"
	"slices"
	"strings"
)

// clientCalls are the calls of Turn.ClientTools in the answer that is being written.
type clientCalls struct {
	told       map[string]string // the arguments that were told, by the ids of calls
	handedBack bool              // the answer's calls go to the caller, which ends the turn
}

// tell tells what is new of a call, of which call has all that is known. While the answer is being written, a call is told once its
// arguments begin: until then, a provider may go on with its name.
func (c *clientCalls) tell(emit func(Event), call Call, complete bool) {
	before, began := c.told[call.ID]
	fresh, extends := strings.CutPrefix(call.Arguments, before)
	if !extends || began && fresh == "" || !complete && call.Arguments == "" {
		return // arguments that do not go on where they were: what was told stands
	}
	if c.told == nil {
		c.told = make(map[string]string)
	}
	c.told[call.ID] = call.Arguments
	call.Arguments = validUTF8(fresh)
	emit(call)
}

// handBack ends the turn if an answer calls client tools. The history then ends with the model's message and these calls.
func (r *run) handBack(c Completion) bool {
	message := Message{Role: Assistant, Reasoning: r.reply.thought.String()}
	for _, call := range c.ToolCalls {
		if !slices.ContainsFunc(r.tools, func(t ToolDef) bool { return t.client && t.Name == call.Name }) {
			continue
		}
		call.ID = r.ids.of(call.ID)
		if slices.ContainsFunc(message.ToolCalls, func(c ToolCall) bool { return c.ID == call.ID }) {
			call.ID = r.ids.fresh(call.ID)
		}
		message.ToolCalls = append(message.ToolCalls, call)
	}
	if len(message.ToolCalls) == 0 {
		return false
	}
	r.reply.close()
	message.Text = r.reply.own()
	r.reply = r.reply.after()
	for i, call := range message.ToolCalls {
		r.client.tell(r.emit, Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments}, true)
		if told, ok := r.client.told[call.ID]; ok {
			call.Arguments = told
		}
		call.Arguments, _ = parseArguments(call.Arguments) // providers refuse others in a history
		message.ToolCalls[i] = call
	}
	r.statuses.abandon() // the agent's own calls beside them
	r.grow(message)
	r.place, r.client.handedBack = len(r.grown), true
	return true
}

// isCommitted reports whether something of the answer was told that can't be taken back.
func (r *run) isCommitted() bool {
	return r.turn.Live && !r.node && (r.reply.text.Len() > 0 || len(r.client.told) > 0)
}

// withParams adds to a request what the turn's caller wants of the answer.
func (r *run) withParams(request Request) Request {
	request.Live = r.turn.Live && !r.node
	if r.node {
		return request
	}
	request.Params = r.turn.Params
	if most := request.Params.MaxOutput; most > 0 {
		request.MaxOutput = min(most, cmp.Or(request.MaxOutput, most))
	}
	if len(r.tools) == 0 {
		request.Params.MustCall, request.Params.MustCallName, request.Params.ParallelToolCalls = false, "", nil
	}
	return request
}

// withClientTools puts a client's tools before the others, in the place of those with the same names.
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

// clientTools returns the client's tools among some: their calls end the turn, so limits of calls don't concern them.
func clientTools(tools []ToolDef) []ToolDef {
	return slices.DeleteFunc(tools, func(d ToolDef) bool { return !d.client })
}
