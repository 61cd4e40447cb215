package openai_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	gopenai "github.com/sashabaranov/go-openai" //nolint:depguard // Another author's client checks the wire format.

	"telex/standin/openai"
)

// strictStream is the content that a strict client reads from a stream of the Responses API. The client fails the test
// if the stream breaks a rule on which the official clients rely.
type strictStream struct {
	t        *testing.T
	id       string
	names    []string // names of the events, in order
	items    map[int]*strictItem
	response map[string]any // the response in the event that ended the stream
	errors   []string
	sequence int
}

type strictItem struct {
	id, kind, callID string
	done             bool
	parts            map[int]string // the type of each part, by index
	text, refusal    string
	arguments        string
	summary, raw     string
	whole            map[string]any
}

// follow reads the events of a body.
func follow(t *testing.T, body string) *strictStream {
	t.Helper()
	h := &strictStream{t: t, items: map[int]*strictItem{}}
	name := ""
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			h.take(name, value)
			name = ""
		case "":
		default:
			t.Errorf("line %q in the stream", lines.Text())
		}
	}
	return h
}

// streamEvent has the fields of all events.
type streamEvent struct {
	Type           string
	SequenceNumber *int `json:"sequence_number"`
	Response       map[string]any
	Item           map[string]any
	Part           map[string]any
	ItemID         string `json:"item_id"`
	OutputIndex    *int   `json:"output_index"`
	ContentIndex   *int   `json:"content_index"`
	SummaryIndex   *int   `json:"summary_index"`
	Delta          *string
	Text           string
	Arguments      string
	Message        string
	Error          *struct{ Message string }
}

func (h *strictStream) take(name, data string) {
	h.t.Helper()
	var e streamEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		h.t.Fatalf("event %q: %v", data, err)
	}
	if e.Type != name {
		h.t.Errorf("event %q has the type %q", name, e.Type)
	}
	if e.SequenceNumber == nil || *e.SequenceNumber != h.sequence {
		h.t.Errorf("%s: sequence number %v, want %d", name, e.SequenceNumber, h.sequence)
	}
	h.sequence++
	if len(h.names) == 0 && e.Type != "response.created" {
		h.t.Errorf("the first event is %q, want response.created", e.Type)
	}
	if h.response != nil {
		h.t.Errorf("%s after the end", name)
	}
	h.names = append(h.names, e.Type)
	if e.Response != nil {
		id, _ := e.Response["id"].(string)
		if h.id == "" {
			h.id = id
		}
		if id != h.id || id == "" {
			h.t.Errorf("%s: response %q, want %q", name, id, h.id)
		}
		for field := range strings.FieldsSeq("object created_at model status output error incomplete_details instructions metadata " +
			"parallel_tool_calls temperature top_p tool_choice tools usage") {
			if _, ok := e.Response[field]; !ok {
				h.t.Errorf("%s: the response lacks %s", name, field)
			}
		}
	}
	h.fold(e)
}

func (h *strictStream) fold(e streamEvent) {
	switch e.Type {
	case "response.created", "response.in_progress":
		return
	case "response.completed", "response.incomplete", "response.failed":
		h.response = e.Response
		output, _ := e.Response["output"].([]any)
		for i, it := range h.items {
			if e.Type != "response.failed" && (!it.done || i >= len(output)) {
				h.t.Errorf("%s: item %d is not finished", e.Type, i)
			}
		}
		return
	case "error":
		text := e.Message
		if e.Error != nil {
			text = e.Error.Message
		}
		h.errors = append(h.errors, text)
		return
	case "response.standin.delta", "response.standin_call.searching", "keepalive":
		return
	}
	if e.OutputIndex == nil {
		h.t.Fatalf("%s without an output index", e.Type)
	}
	it := h.items[*e.OutputIndex]
	if e.Type == "response.output_item.added" {
		if it != nil || *e.OutputIndex != len(h.items) {
			h.t.Errorf("item %d added as number %d", *e.OutputIndex, len(h.items))
		}
		it = &strictItem{parts: map[int]string{}}
		it.id, _ = e.Item["id"].(string)
		it.kind, _ = e.Item["type"].(string)
		it.callID, _ = e.Item["call_id"].(string)
		h.items[*e.OutputIndex] = it
		return
	}
	switch {
	case it == nil:
		h.t.Fatalf("%s: missing output at index %d", e.Type, *e.OutputIndex)
	case it.done:
		h.t.Errorf("%s after the item was done", e.Type)
	case e.Type == "response.output_item.done":
		it.done, it.whole = true, e.Item
		if e.Item["id"] != it.id || e.Item["type"] != it.kind || it.callID != "" && e.Item["call_id"] != it.callID {
			h.t.Errorf("item %q changed to %v", it.id, e.Item)
		}
		return
	case e.ItemID != it.id || it.id == "":
		h.t.Errorf("%s: item %q, want %q", e.Type, e.ItemID, it.id)
	}
	h.foldPart(it, e)
}

func (h *strictStream) foldPart(it *strictItem, e streamEvent) {
	wantPart := func(kind string) {
		if e.ContentIndex == nil || it.parts[*e.ContentIndex] != kind {
			h.t.Errorf("%s: part %v is not of type %s: %v", e.Type, e.ContentIndex, kind, it.parts)
		}
	}
	switch e.Type {
	case "response.content_part.added":
		it.parts[*e.ContentIndex], _ = e.Part["type"].(string)
	case "response.content_part.done":
		wantPart(fmt.Sprint(e.Part["type"]))
	case "response.output_text.delta":
		wantPart("output_text")
		it.text += *e.Delta
	case "response.output_text.done":
		if e.Text != it.text {
			h.t.Errorf("text %q at the end, %q in pieces", e.Text, it.text)
		}
	case "response.refusal.delta":
		wantPart("refusal")
		it.refusal += *e.Delta
	case "response.function_call_arguments.delta":
		it.arguments += *e.Delta
	case "response.function_call_arguments.done":
		if e.Arguments != it.arguments {
			h.t.Errorf("arguments %q at the end, %q in pieces", e.Arguments, it.arguments)
		}
	case "response.reasoning_summary_text.delta":
		it.summary += *e.Delta
	case "response.reasoning_text.delta":
		it.raw += *e.Delta
	}
}

// respond requests a streamed answer, with additional parameters.
func (p *provider) respond(question, more string) *strictStream {
	p.t.Helper()
	input, err := json.Marshal(question)
	if err != nil {
		p.t.Fatal(err)
	}
	r := p.post("/v1/responses", `{"model":"standin","stream":true,"input":`+string(input)+more+`}`)
	if r.status != 200 || r.err != nil {
		p.t.Fatalf("status %d, %v: %s", r.status, r.err, r.body)
	}
	return follow(p.t, r.body)
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	h := p.respond("Explain the tides", "")
	if want := openai.Answer("Explain the tides"); len(h.items) != 1 || h.items[0].text != want {
		t.Errorf("items %v", h.items)
	}
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if got := slices.Compact(h.names); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if rec := p.last(); rec.End != openai.EndComplete || rec.Sent != rec.Planned || rec.Path != "/v1/responses" {
		t.Errorf("record %+v", rec)
	}
}

func TestResponsesItems(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	h := p.respond(`{{standin think="let me see" think_as=both call="now {\"zone\":\"UTC\"}" call="now {}" say="Looking." cached=3 noise=2}} x`,
		`,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false`)
	if len(h.items) != 4 {
		t.Fatalf("%d items, want 4", len(h.items))
	}
	if it := h.items[0]; it.kind != "reasoning" || it.summary != "let me see" || it.raw != "let me see" || it.whole["encrypted_content"] == "" {
		t.Errorf("reasoning %+v", it)
	}
	if it := h.items[1]; it.kind != "message" || it.text != "Looking." {
		t.Errorf("message %+v", it)
	}
	if it := h.items[2]; it.kind != "function_call" || it.arguments != `{"zone":"UTC"}` || it.whole["name"] != "now" || it.callID == h.items[3].callID {
		t.Errorf("call %+v", it)
	}
	usage, _ := json.Marshal(h.response["usage"]) //nolint:errchkjson // the value was decoded from JSON
	if !strings.Contains(string(usage), `"cached_tokens":3`) || !strings.Contains(string(usage), `"reasoning_tokens":3`) {
		t.Errorf("usage %s", usage)
	}
	if h := p.respond("{{standin think=hm}} say: x", ""); h.items[0].kind != "reasoning" || h.items[0].summary+h.items[0].raw != "" {
		t.Errorf("reasoning was sent although not requested: %+v", h.items[0])
	}
	if h := p.respond("{{standin refusal=no}} x", ""); h.items[0].refusal != "no" {
		t.Errorf("refusal %+v", h.items[0])
	}
}

func TestResponsesEndings(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct {
		name, question, more string
		last, status, reason string
		failed               string
	}{
		{"complete", "say: x", "", "response.completed", "completed", "", ""},
		{"empty", "{{standin empty}} x", "", "response.completed", "completed", "", ""},
		{"length", "words: 100", `,"max_output_tokens":16`, "response.incomplete", "incomplete", "max_output_tokens", ""},
		{"length in a call", `{{standin call="f {\"a\":\"b c d e f g h i j k l m n o p q r s\"}"}} x`, `,"max_output_tokens":16`, "response.incomplete", "incomplete", "max_output_tokens", ""},
		{"filter", "{{standin finish=content_filter}} say: x", "", "response.incomplete", "incomplete", "content_filter", ""},
		{"error", "{{standin finish=error}} say: x", "", "response.failed", "failed", "", ""},
		{"failed", "{{standin fail=2 message=oh}} words: 5", "", "response.failed", "failed", "", ""},
		{"error event", "{{standin fail=2 fail_as=event message=oh}} words: 5", "", "error", "", "", "oh"},
		{"nested error event", "{{standin fail=2 fail_as=nested message=oh}} words: 5", "", "error", "", "", "oh"},
		{"ended before its end", "{{standin eof=finish}} words: 5", "", "response.output_item.done", "", "", ""},
		{"ended in the text", "{{standin eof=2}} words: 5", "", "response.output_text.delta", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			q := *p
			q.t = t
			h := q.respond(tc.question, tc.more)
			if got := h.names[len(h.names)-1]; got != tc.last {
				t.Errorf("the last event is %s, want %s", got, tc.last)
			}
			if tc.failed != "" && !slices.Equal(h.errors, []string{tc.failed}) {
				t.Errorf("errors %v", h.errors)
			}
			if tc.status != "" && h.response["status"] != tc.status {
				t.Errorf("status %v, want %s", h.response["status"], tc.status)
			}
			details, _ := h.response["incomplete_details"].(map[string]any)
			if got, _ := details["reason"].(string); got != tc.reason {
				t.Errorf("reason %q, want %q", got, tc.reason)
			}
		})
	}
}

func TestResponsesRefused(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Context: 200})
	const user = `{"role":"user","content":"hi"}`
	const call = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	const result = `{"type":"function_call_output","call_id":"a","output":"1"}`
	input := func(items ...string) string { return `{"model":"standin","input":[` + strings.Join(items, ",") + `]}` }
	with := func(more string) string { return `{"model":"standin","input":"hi",` + more + `}` }
	for _, tc := range []struct {
		name, body  string
		status      int
		param, code string
		message     string // part of the error message
	}{
		{"not JSON", `{"model":`, 400, "", "", "not valid JSON"},
		{"no model", `{"input":"hi"}`, 400, "model", "missing_required_parameter", ""},
		{"unknown model", `{"model":"gpt-9","input":"hi"}`, 400, "model", "model_not_found", "'gpt-9' does not exist"},
		{"no input", `{"model":"standin"}`, 400, "", "missing_required_parameter", "must be provided"},
		{"empty input", input(), 400, "input", "empty_array", ""},
		{"input of another type", `{"model":"standin","input":5}`, 400, "input", "invalid_type", ""},
		{"parameter of Chat Completions", with(`"messages":[]`), 400, "messages", "unknown_parameter", "Unknown parameter: 'messages'."},
		{"max_tokens", with(`"max_tokens":50`), 400, "max_tokens", "unknown_parameter", ""},
		{"too few tokens", with(`"max_output_tokens":15`), 400, "max_output_tokens", "integer_below_min_value", "Expected a value >= 16"},
		{"temperature", with(`"temperature":3`), 400, "temperature", "decimal_above_max_value", ""},
		{"stream options without a stream", with(`"stream_options":{}`), 400, "stream_options", "", ""},
		{"include", with(`"include":["everything"]`), 400, "include[0]", "invalid_value", ""},
		{"summary", with(`"reasoning":{"summary":"long"}`), 400, "reasoning.summary", "invalid_value", ""},
		{"something stored", with(`"previous_response_id":"resp_1"`), 400, "previous_response_id", "previous_response_not_found", ""},
		{"in the background", with(`"background":true`), 400, "background", "unsupported_value", ""},
		{"nested function", with(`"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "tools[0].name", "missing_required_parameter", "Missing required parameter: 'tools[0].name'."},
		{"tool with more", with(`"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"x":1}]`), 400, "tools[0].x", "unknown_parameter", ""},
		{"tool without parameters", with(`"tools":[{"type":"function","name":"f"}]`), 400, "tools[0].parameters", "invalid_function_parameters", ""},
		{"strict tool", with(`"tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object"}}]`), 400, "tools[0].parameters", "invalid_function_parameters", "additionalProperties"},
		{"strict tool with an option", with(`"tools":[{"type":"function","name":"f","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{}}}}]`), 400, "tools[0].parameters", "invalid_function_parameters", "Missing 'a'"},
		{"name of a tool", with(`"tools":[{"type":"function","name":"a b","parameters":{"type":"object"}}]`), 400, "tools[0].name", "invalid_value", ""},
		{"role tool", input(`{"role":"tool","content":"x"}`), 400, "input[0].role", "invalid_value", "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', 'user'."},
		{"name of a person", input(`{"role":"user","content":"x","name":"Ann"}`), 400, "input[0].name", "unknown_parameter", ""},
		{"calls in a message", input(`{"role":"assistant","content":"x","tool_calls":[]}`), 400, "input[0].tool_calls", "unknown_parameter", ""},
		{"phase of a user", input(`{"role":"user","content":"x","phase":"commentary"}`), 400, "input[0].phase", "unknown_parameter", ""},
		{"unknown phase", input(`{"role":"assistant","content":"x","phase":"end"}`), 400, "input[0].phase", "invalid_value", ""},
		{"no content", input(`{"role":"user"}`), 400, "input[0].content", "missing_required_parameter", ""},
		{"part of Chat Completions", input(`{"role":"user","content":[{"type":"text","text":"x"}]}`), 400, "input[0].content[0]", "invalid_value", "Invalid value: 'text'. Supported values are: 'input_text'"},
		{"input part of the assistant", input(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), 400, "input[0].content[0]", "invalid_value", "'output_text' and 'refusal'"},
		{"image as an object", input(`{"role":"user","content":[{"type":"input_image","image_url":{"url":"x"}}]}`), 400, "input[0].content[0]", "invalid_type", ""},
		{"image on the web", input(`{"role":"user","content":[{"type":"input_image","image_url":"http://x/y.png"}]}`), 400, "input[0].content[0].image_url", "invalid_image_url", ""},
		{"unknown item", input(`{"type":"message_call"}`), 400, "input[0]", "invalid_value", ""},
		{"unknown field", input(user, call, `{"type":"function_call_output","call_id":"a","output":"1","name":"f"}`), 400, "input[2].name", "unknown_parameter", ""},
		{"result without its call", input(user, result), 400, "input", "", "No tool call found for function call output with call_id a."},
		{"result before its call", input(user, result, call), 400, "input", "", "No tool call found"},
		{"two results", input(user, call, result, result), 400, "input", "", "No tool call found"},
		{"two calls of one id", input(user, call, call, result), 400, "input", "", "Duplicate"},
		{"call without its result", input(user, call), 400, "input", "", "No tool output found for function call a."},
		{"call without arguments", input(user, `{"type":"function_call","call_id":"a","name":"f"}`), 400, "input[1].arguments", "missing_required_parameter", ""},
		{"call with an id of the other kind", input(user, `{"type":"function_call","id":"call_1","call_id":"a","name":"f","arguments":"{}"}`, result), 400, "input[1].id", "invalid_value", "begins with 'fc'"},
		{"long call_id", input(user, `{"type":"function_call","call_id":"`+strings.Repeat("a", 65)+`","name":"f","arguments":"{}"}`), 400, "input[1].call_id", "string_above_max_length", ""},
		{"reasoning that was stored", input(user, `{"type":"reasoning","id":"rs_1","summary":[]}`, call, result), 404, "input", "", "Items are not persisted when `store` is set to false."},
		{"reference to what was stored", input(user, `{"type":"item_reference","id":"rs_1"}`), 404, "input", "", "not found"},
		{"reasoning of somebody else", input(user, `{"type":"reasoning","summary":[],"encrypted_content":"gAAAAx"}`, call, result), 400, "", "invalid_encrypted_content", "could not be verified"},
		{"reasoning without a summary", input(user, `{"type":"reasoning","encrypted_content":"gAAAAx"}`, call, result), 400, "input[1].summary", "missing_required_parameter", ""},
		{"reasoning at the end", input(user, `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"x"}]}`), 400, "input", "", "without its required following item"},
		{"too long", with(`"instructions":"` + strings.Repeat("word ", 300) + `"`), 400, "input", "context_length_exceeded", "exceeds the context window"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			q := *p
			q.t = t
			r := q.post("/v1/responses", tc.body)
			message, kind, param, code := apiError(t, r.body)
			if r.status != tc.status || kind != "invalid_request_error" || param != tc.param || code != tc.code || !strings.Contains(message, tc.message) {
				t.Errorf("status %d, type %q, param %q, code %q, message %q", r.status, kind, param, code, message)
			}
		})
	}
}

func TestResponsesSettingsRefuse(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct{ refuse, more, message string }{
		{"include", `"include":["reasoning.encrypted_content"]`, "Encrypted content is not supported with this model."},
		{"temperature", `"temperature":1`, "Unsupported parameter: 'temperature' is not supported with this model."},
		{"stream", `"stream":true`, "Unsupported value: 'stream' is not supported with this model."},
	} {
		r := p.post("/v1/responses", fmt.Sprintf(`{"model":"standin","input":"{{standin refuse=%s}} say: x",%s}`, tc.refuse, tc.more))
		if message, _, param, _ := apiError(t, r.body); r.status != 400 || param != tc.refuse || message != tc.message {
			t.Errorf("status %d, param %q, %q", r.status, param, message)
		}
	}
}

// TestResponsesClientLibrary uses another author's client. The test streams an answer with tool calls, and sends the
// answer's items back together with the results of these calls.
func TestResponsesClientLibrary(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-test"})
	client := p.sdk("sk-test")
	req := gopenai.CreateResponseRequest{
		Model: "standin", Instructions: "be brief", Include: []gopenai.ResponseInclude{gopenai.ResponseIncludeReasoningEncryptedContent},
		Tools: []gopenai.ResponseTool{gopenai.NewResponseFunctionTool(gopenai.FunctionDefinition{
			Name: "now", Parameters: map[string]any{"type": "object"},
		})},
	}
	input := []any{map[string]any{"role": "user", "content": "{{standin think=hm require=reasoning_content}} call: now {}"}}
	req.Input = input
	stream, err := client.CreateResponseStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var whole *gopenai.CreateResponseResponse
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == gopenai.ResponseStreamEventCompleted {
			whole = e.Response
		}
	}
	if whole == nil || len(whole.Output) != 2 {
		t.Fatalf("response %+v", whole)
	}
	last, _ := whole.Output[1].(map[string]any)
	req.Input = append(append(input, whole.Output...), map[string]any{
		"type": "function_call_output", "call_id": last["call_id"], "output": "noon",
	})
	answer, err := client.CreateResponse(t.Context(), req)
	if err != nil || answer.GetOutputText() != "The tools answered:\n\n- now: noon" {
		t.Errorf("answer %q, %v", answer.GetOutputText(), err)
	}
	if answer.Usage == nil || answer.Usage.TotalTokens != answer.Usage.InputTokens+answer.Usage.OutputTokens {
		t.Errorf("usage %+v", answer.Usage)
	}
	req.Input = append(input, whole.Output[1], map[string]any{"type": "function_call_output", "call_id": last["call_id"], "output": "noon"})
	if _, err := client.CreateResponse(t.Context(), req); err == nil || !strings.Contains(err.Error(), "required 'reasoning' item") {
		t.Errorf("without the reasoning: %v", err)
	}
}
