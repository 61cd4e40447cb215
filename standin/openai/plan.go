package openai

import (
	"fmt"
	"strings"
)

// plan is a complete answer, which the server plans before it sends the first byte.
type plan struct {
	units     []unit
	finish    string // "null" if the answer has no finish_reason
	text      string // the content
	reasoning string // reasoning outside of the content
	refusal   string
	calls     []madeCall
	usage     usage
}

// unit is the output of the model in one step, usually one token.
type unit struct {
	kind   string // content, reasoning, refusal or call.
	text   string // text of the unit; for the kind call: the arguments
	tokens int
	call   map[string]any // for the kind call: the element of tool_calls
	made   madeCall       // for the kind call: the call with its id
}

// madeCall is a tool call with its id.
type madeCall struct{ id, name, arguments, signature string }

// usage contains the numbers of tokens of a request and its answer.
type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// makePlan plans the answer to a conversation. The ids of tool calls contain the number serial, so that they are
// unique.
func makePlan(r *chatRequest, talk []said, b behaviour, serial uint64) plan {
	p := plan{finish: "stop", refusal: b.refusal}
	calls, rest := wantedCalls(talk, b)
	results := r.toolResults()
	switch {
	case len(calls) > 0 && len(results) > 0 && !b.again:
		p.text = "The tools answered:\n\n" + strings.Join(results, "\n")
	case len(calls) > 0:
		p.text, p.finish = rest, "tool_calls"
		p.calls = makeCalls(calls, b, serial)
	case b.say != nil:
		p.text = *b.say
	case b.refusal == "":
		p.text = answer(talk)
	}
	p.text = cutAtStop(p.text, r.stop)
	switch {
	case b.think == "":
	case b.thinkAs == "tags":
		p.text = "<think>" + b.think + "</think>\n\n" + p.text
	case b.thinkAs == "open_tag_missing":
		p.text = b.think + "</think>\n\n" + p.text
	default:
		p.reasoning = b.think
	}
	p.units = p.makeUnits(b)
	p.limit(r, b)
	if b.callsAs == "gemini" && p.finish == "tool_calls" {
		p.finish = "stop"
	}
	if b.finish != nil {
		p.finish = *b.finish
	}
	p.count(r, b)
	return p
}

// wantedCalls returns the tool calls that the answer must contain, according to the settings or to lines in
// the question such as "call: time {}". wantedCalls also returns the text of the answer beside the calls.
func wantedCalls(talk []said, b behaviour) (calls []call, text string) {
	if len(b.calls) > 0 {
		if b.say != nil {
			text = *b.say
		}
		return b.calls, text
	}
	users := userTexts(talk)
	if b.say != nil || len(users) == 0 || !strings.HasPrefix(users[len(users)-1], "call:") {
		return nil, ""
	}
	for line := range strings.Lines(users[len(users)-1]) {
		if rest, ok := strings.CutPrefix(line, "call:"); ok {
			name, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
			calls = append(calls, call{name: name, arguments: strings.TrimSpace(arguments)})
		} else {
			text += line
		}
	}
	return calls, strings.TrimSpace(text)
}

func makeCalls(calls []call, b behaviour, serial uint64) []madeCall {
	made := make([]madeCall, len(calls))
	for i, c := range calls {
		if c.arguments == "" {
			c.arguments = "{}"
		}
		made[i] = madeCall{id: fmt.Sprintf("call_%016x%02d", serial, i), name: c.name, arguments: c.arguments}
		if b.callsAs == "gemini" {
			made[i].signature = fmt.Sprintf("sig_%016x%02d", serial, i)
		}
	}
	return made
}

// toolResults lists the results of tool calls after the last user message, each as "- name: content".
func (r *chatRequest) toolResults() []string {
	var results []string
	names := map[string]string{}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
		switch m.Role {
		case "user":
			results = nil
		case "tool":
			results = append(results, fmt.Sprintf("- %s: %s", names[m.ToolCallID], m.text))
		}
	}
	return results
}

// cutAtStop cuts a text before the first stop sequence that it contains.
func cutAtStop(text string, stop []string) string {
	for _, s := range stop {
		text, _, _ = strings.Cut(text, s)
	}
	return text
}

// makeUnits splits an answer into units: first the reasoning, then the content, the refusal and the calls.
func (p *plan) makeUnits(b behaviour) []unit {
	var units []unit
	for _, t := range []struct{ kind, text string }{{"reasoning", p.reasoning}, {"content", p.text}, {"refusal", p.refusal}} {
		for _, token := range Tokens(t.text) {
			units = append(units, unit{kind: t.kind, text: token, tokens: 1})
		}
	}
	for i, c := range p.calls {
		units = append(units, callUnits(i, c, b.callsAs)...)
	}
	return units
}

// callUnits encodes a tool call as elements of tool_calls, in the form of the provider that the parameter as names.
func callUnits(index int, c madeCall, as string) []unit {
	whole := map[string]any{
		"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.arguments},
	}
	tokens := len(Tokens(c.arguments)) + 1
	switch as {
	case "gemini": // the whole call at once, without index, with a signature that the client must send back
		whole["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": c.signature}}
		return []unit{{kind: "call", text: c.arguments, tokens: tokens, call: whole, made: c}}
	case "ollama": // every call has index 0: https://github.com/ollama/ollama/issues/15457
		whole["index"] = 0
		return []unit{{kind: "call", text: c.arguments, tokens: tokens, call: whole, made: c}}
	}
	var shown any = index
	if as == "null_index" {
		shown = nil
	}
	units := []unit{{kind: "call", tokens: 1, made: c, call: map[string]any{
		"index": shown, "id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": ""},
	}}}
	for _, token := range Tokens(c.arguments) {
		function := map[string]any{"arguments": token}
		fragment := map[string]any{"index": shown, "function": function}
		switch as {
		case "repeat_ids":
			fragment["id"], fragment["type"], function["name"] = c.id, "function", c.name
		case "empty_ids":
			fragment["id"], function["name"] = "", ""
		}
		units = append(units, unit{kind: "call", text: token, tokens: 1, call: fragment, made: c})
	}
	return units
}

// limit cuts the answer at max_tokens or at the end of the context window. Like a model, limit may cut the answer at
// any token.
func (p *plan) limit(r *chatRequest, b behaviour) {
	most, ok := r.mostTokens(b)
	if !ok || p.tokens() <= most {
		return
	}
	n, sum := 0, 0
	for n < len(p.units) && sum+p.units[n].tokens <= most {
		sum += p.units[n].tokens
		n++
	}
	p.units, p.finish = p.units[:n], "length"
	p.text, p.reasoning, p.refusal = p.joined("content"), p.joined("reasoning"), p.joined("refusal")
	p.calls = nil // drop all calls, because clients can't use an incomplete call
}

// joined returns the text of all units of a kind.
func (p *plan) joined(kind string) string {
	var b strings.Builder
	for _, u := range p.units {
		if u.kind == kind {
			b.WriteString(u.text)
		}
	}
	return b.String()
}

// tokens returns the length of the whole answer in tokens.
func (p *plan) tokens() int {
	n := 0
	for _, u := range p.units {
		n += u.tokens
	}
	return n
}

// count fills in the usage: the numbers of tokens of the request and the answer.
func (p *plan) count(r *chatRequest, b behaviour) {
	u := &p.usage
	messages, functions := r.promptTokens(b)
	u.PromptTokens = messages + functions
	u.PromptTokensDetails.CachedTokens = min(b.cached, u.PromptTokens)
	u.CompletionTokens = p.tokens()
	for _, unit := range p.units {
		if unit.kind == "reasoning" {
			u.CompletionTokensDetails.ReasoningTokens += unit.tokens
		}
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
}
