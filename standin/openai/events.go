package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// event is one event of a streamed answer of the Responses API, without its sequence number.
// https://platform.openai.com/docs/api-reference/responses-streaming
type event struct {
	name   string
	fields map[string]any
}

// output is a growing answer of the Responses API: a list of items. Only the last item of an output may be unfinished.
type output struct {
	*exchange
	r        *responsesRequest
	raw      bool // reasoning is sent as plain text
	summary  bool // reasoning is sent as a summary
	items    []*item
	sequence int // number of the next event
}

// item is an element of an output, such as a message or a function call.
type item struct {
	kind   string // reasoning, message or function_call
	id     string
	status string
	index  int
	part   string // kind of the unfinished part: content or refusal
	text   strings.Builder
	parts  []any // the finished parts of a message
	call   madeCall
}

func (r *responsesRequest) encoder(x *exchange) encoder {
	as := x.b.thinkAs
	return &output{exchange: x, r: r, raw: as == "reasoning" || as == "both", summary: r.summarizes() && as != "reasoning"}
}

// add adds a unit, the model's output in one step, to the answer, and returns the events that announce the unit.
func (o *output) add(u unit) (events []event) {
	kind := "message"
	switch u.kind {
	case "reasoning":
		kind = "reasoning"
	case "call":
		kind = "function_call"
	}
	it := o.open()
	if it == nil || it.kind != kind || kind == "function_call" && it.call.id != u.made.id {
		events = o.close("completed")
		it = &item{kind: kind, index: len(o.items), status: "in_progress", call: u.made}
		prefix := map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc"}[kind]
		it.id = fmt.Sprintf("%s_%016x%02d", prefix, o.serial, it.index)
		o.items = append(o.items, it)
		events = append(events, o.itemEvent("response.output_item.added", it))
		events = append(events, o.beginReasoning(it)...)
	}
	if kind == "message" && it.part != u.kind {
		events = append(events, it.endPart()...)
		it.part = u.kind
		events = append(events, it.event("response.content_part.added", map[string]any{"content_index": len(it.parts), "part": it.shownPart()}))
	}
	it.text.WriteString(u.text)
	for _, name := range o.deltas(it, u.kind) {
		if u.text != "" {
			events = append(events, it.event(name+".delta", it.place(name, map[string]any{"delta": u.text})))
		}
	}
	return events
}

// open returns the unfinished item, or nil if all items are finished.
func (o *output) open() *item {
	if n := len(o.items); n > 0 && o.items[n-1].status == "in_progress" {
		return o.items[n-1]
	}
	return nil
}

// deltas returns the names of the events that send a piece of the item's text.
func (o *output) deltas(it *item, kind string) (names []string) {
	switch {
	case it.kind == "function_call":
		return []string{"response.function_call_arguments"}
	case kind == "refusal":
		return []string{"response.refusal"}
	case it.kind == "message":
		return []string{"response.output_text"}
	}
	if o.summary {
		names = append(names, "response.reasoning_summary_text")
	}
	if o.raw {
		names = append(names, "response.reasoning_text")
	}
	return names
}

// place adds the fields that identify the item and the part to the fields of an event.
func (it *item) place(name string, fields map[string]any) map[string]any {
	switch name {
	case "response.output_text":
		fields["content_index"], fields["logprobs"] = len(it.parts), []any{}
	case "response.refusal":
		fields["content_index"] = len(it.parts)
	case "response.reasoning_text":
		fields["content_index"] = 0
	case "response.reasoning_summary_text":
		fields["summary_index"] = 0
	}
	return fields
}

func (it *item) event(name string, fields map[string]any) event {
	fields["item_id"], fields["output_index"] = it.id, it.index
	return event{name: name, fields: fields}
}

func (o *output) itemEvent(name string, it *item) event {
	return event{name: name, fields: map[string]any{"output_index": it.index, "item": o.shown(it)}}
}

func (o *output) beginReasoning(it *item) (events []event) {
	if it.kind == "reasoning" && o.summary {
		events = append(events, it.event("response.reasoning_summary_part.added",
			map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": ""}}))
	}
	return events
}

// shownPart returns the unfinished part of a message in the form of the API.
func (it *item) shownPart() map[string]any {
	if it.part == "refusal" {
		return map[string]any{"type": "refusal", "refusal": it.text.String()}
	}
	return map[string]any{"type": "output_text", "text": it.text.String(), "annotations": []any{}, "logprobs": []any{}}
}

// endPart finishes the unfinished part of a message, and returns the events that report this.
func (it *item) endPart() []event {
	if it.part == "" {
		return nil
	}
	name, field := "response.output_text", "text"
	if it.part == "refusal" {
		name, field = "response.refusal", "refusal"
	}
	events := []event{
		it.event(name+".done", it.place(name, map[string]any{field: it.text.String()})),
		it.event("response.content_part.done", map[string]any{"content_index": len(it.parts), "part": it.shownPart()}),
	}
	it.parts = append(it.parts, it.shownPart())
	it.part = ""
	it.text.Reset()
	return events
}

// close finishes the unfinished item, and returns the events that report this.
func (o *output) close(status string) (events []event) {
	it := o.open()
	if it == nil {
		return nil
	}
	switch it.kind {
	case "message":
		events = it.endPart()
	case "function_call":
		events = append(events, it.event("response.function_call_arguments.done",
			map[string]any{"name": it.call.name, "arguments": it.text.String()}))
	default:
		for _, name := range o.deltas(it, "reasoning") {
			events = append(events, it.event(name+".done", it.place(name, map[string]any{"text": it.text.String()})))
		}
		if o.summary {
			events = append(events, it.event("response.reasoning_summary_part.done", map[string]any{
				"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": it.text.String()},
			}))
		}
	}
	it.status = status
	return append(events, o.itemEvent("response.output_item.done", it))
}

// shown returns an item in the form in which the answer's JSON document contains it.
func (o *output) shown(it *item) map[string]any {
	begun := it.status != "in_progress"
	switch it.kind {
	case "message":
		parts := it.parts
		if parts == nil {
			parts = []any{}
		}
		return map[string]any{"id": it.id, "type": it.kind, "status": it.status, "role": "assistant", "content": parts}
	case "function_call":
		arguments := ""
		if begun {
			arguments = it.text.String()
		}
		return map[string]any{
			"id": it.id, "type": it.kind, "status": it.status, "call_id": it.call.id, "name": it.call.name, "arguments": arguments,
		}
	}
	shown := map[string]any{"id": it.id, "type": it.kind, "summary": []any{}}
	if begun && o.summary {
		shown["summary"] = []any{map[string]any{"type": "summary_text", "text": it.text.String()}}
	}
	if begun && o.raw {
		shown["content"] = []any{map[string]any{"type": "reasoning_text", "text": it.text.String()}}
	}
	if o.r.wants(encryptedContent) {
		shown["encrypted_content"] = encrypt(it.id, o.r.Model, it.text.String())
	}
	return shown
}

func (o *output) noise(n int) {
	fields := map[string]any{"item_id": "x_1", "output_index": 99, "delta": "noise", "text": "noise"}
	switch n % 3 {
	case 1:
		o.send(false, event{"response.standin_call.searching", fields})
	case 2:
		o.send(false, event{"keepalive", map[string]any{}})
	default:
		o.send(false, event{"response.standin.delta", fields})
	}
}

// ending finishes the unfinished item. ending returns the events that report this, and the event that ends the answer.
func (o *output) ending() []event {
	status, unfinished := "completed", "completed"
	switch o.p.finish {
	case "length", "content_filter":
		status, unfinished = "incomplete", "incomplete"
	case "error":
		status, unfinished = "failed", "incomplete"
	}
	events := o.close(unfinished)
	return append(events, event{name: "response." + status, fields: map[string]any{"response": o.document(status)}})
}

func (o *output) whole() any {
	for left := o.p.units; len(left) > 0; { // the events are not sent, so add all output of one kind at once
		n := 1
		for n < len(left) && left[n].kind == left[0].kind && left[n].made.id == left[0].made.id {
			n++
		}
		u := merge(left[:n])
		u.made = left[0].made
		o.add(u)
		left = left[n:]
	}
	events := o.ending()
	return events[len(events)-1].fields["response"]
}

// document returns the JSON document of the answer in its current state.
// https://platform.openai.com/docs/api-reference/responses/object
func (o *output) document(status string) map[string]any {
	r := o.r
	items := []any{}
	for _, it := range o.items {
		if it.status != "in_progress" {
			items = append(items, o.shown(it))
		}
	}
	tools := r.Tools
	if tools == nil {
		tools = []json.RawMessage{}
	}
	d := map[string]any{
		"id": fmt.Sprintf("resp_%016x", o.serial), "object": "response", "created_at": o.rec.Time.Unix(), "status": status,
		"background": false, "error": nil, "incomplete_details": nil, "instructions": r.Instructions,
		"max_output_tokens": r.MaxOutputTokens, "max_tool_calls": nil, "metadata": map[string]string{}, "model": r.Model,
		"output": items, "parallel_tool_calls": r.ParallelToolCalls == nil || *r.ParallelToolCalls, "previous_response_id": nil,
		"prompt_cache_key": nil, "reasoning": map[string]any{"effort": nil, "summary": nil}, "safety_identifier": nil,
		"service_tier": "default", "store": r.Store == nil || *r.Store, "temperature": 1.0,
		"text":        map[string]any{"format": map[string]any{"type": "text"}, "verbosity": "medium"},
		"tool_choice": "auto", "tools": tools, "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if r.Metadata != nil {
		d["metadata"] = r.Metadata
	}
	if r.Temperature != nil {
		d["temperature"] = *r.Temperature
	}
	switch {
	case status == "failed":
		d["error"] = map[string]any{"code": "server_error", "message": "The model stopped with an error."}
	case o.p.finish == "length" && status == "incomplete":
		d["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	case status == "incomplete":
		d["incomplete_details"] = map[string]any{"reason": o.p.finish}
	}
	if status != "in_progress" && o.b.usage != "off" {
		u := o.p.usage
		d["usage"] = map[string]any{
			"input_tokens": u.PromptTokens, "input_tokens_details": map[string]any{"cached_tokens": u.PromptTokensDetails.CachedTokens},
			"output_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
			"output_tokens_details": map[string]any{"reasoning_tokens": u.CompletionTokensDetails.ReasoningTokens},
		}
	}
	return d
}

func (o *output) begin() {
	for _, name := range []string{"response.created", "response.in_progress"} {
		o.send(false, event{name, map[string]any{"response": o.document("in_progress")}})
	}
	o.pause(o.b.first)
}

func (o *output) unit(u unit, unfinished bool) { o.send(unfinished, o.add(u)...) }

func (o *output) finish() {
	events := o.ending()
	o.send(o.ends(afterFinish, afterFinish), events[:len(events)-1]...)
	o.endAt(afterFinish)
	o.send(o.b.noLastNewline, events[len(events)-1])
	o.endAt(afterUsage)
}

// send gives each event its sequence number and writes the events. Like OpenAI, send adds padding to an event with a
// piece of text, to hide the length of the text.
func (o *output) send(unfinished bool, events ...event) {
	for i, e := range events {
		o.alive()
		e.fields["type"], e.fields["sequence_number"] = e.name, o.sequence
		o.sequence++
		if opts := o.r.StreamOptions; strings.HasSuffix(e.name, ".delta") && (opts == nil || opts.IncludeObfuscation == nil || *opts.IncludeObfuscation) {
			e.fields["obfuscation"] = padding(8 + o.dice.IntN(8) + o.b.pad)
		}
		o.wire.event(e.name, mustJSON(e.fields), unfinished && i == len(events)-1)
	}
}

func (o *output) fail(code, text string) {
	failed := map[string]any{"code": code, "message": text, "param": nil}
	switch o.b.failAs {
	case "event":
		o.send(o.b.noLastNewline, event{"error", failed})
	case "nested", "openrouter":
		failed["type"] = "server_error"
		o.send(o.b.noLastNewline, event{"error", map[string]any{"error": failed}})
	case "vllm":
		failed["type"], failed["code"] = "InternalServerError", http.StatusInternalServerError
		o.wire.event("", mustJSON(map[string]any{"error": failed}), o.b.noLastNewline)
	default:
		d := o.document("failed")
		d["error"], d["usage"] = map[string]any{"code": code, "message": text}, nil
		o.send(o.b.noLastNewline, event{"response.failed", map[string]any{"response": d}})
	}
}
