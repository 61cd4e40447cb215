package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"telex/agent"
)

// turnScript is a random sequence of agent events, and the content that the client must get.
type turnScript struct {
	events []agent.Event
	result agent.Result
	want   spoken
}

func drawScript(t *rapid.T) (s turnScript) {
	calls := map[string]string{}
	var order []string
	for range rapid.IntRange(0, 12).Draw(t, "events") {
		text := rapid.StringN(0, 20, -1).Draw(t, "text")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			s.events = append(s.events, agent.Text{Delta: text})
			s.want.text += text
		case 1:
			s.events = append(s.events, agent.Reasoning{Delta: text})
			s.want.reasoning += text
		case 2:
			s.events = append(s.events, agent.Tool{ID: "t1", Name: "time", Display: "time", State: agent.ToolExecuting})
		case 3:
			id := fmt.Sprintf("call_%d", rapid.IntRange(1, 3).Draw(t, "call"))
			if _, known := calls[id]; !known {
				order = append(order, id)
			}
			calls[id] += text
			s.events = append(s.events, agent.Call{ID: id, Name: "tool_of_" + id, Arguments: text})
		}
	}
	for _, id := range order {
		s.want.calls = append(s.want.calls, id+" tool_of_"+id+" "+calls[id])
	}
	s.result.Stop = rapid.SampledFrom([]agent.StopReason{agent.StopDone, agent.StopLength, agent.StopFiltered, agent.StopRefused, agent.StopEmpty}).Draw(t, "stop")
	if len(order) > 0 {
		s.result.Stop = agent.StopClientCalls
	}
	if s.result.Stop == agent.StopRefused {
		s.result.Refusal, s.want.refusal = "I'd rather not.", "I'd rather not."
	}
	s.result.UsageByModel = []agent.ModelUsage{{Model: "main", Calls: 1, Usage: agent.Usage{Prompt: 7, Completion: 5}}}
	s.want.usage = 12
	return s
}

// valid replaces invalid UTF-8 in s, as encoding/json does, because JSON can't contain invalid UTF-8.
func valid(s spoken) spoken {
	s.text, s.reasoning = strings.ToValidUTF8(s.text, "\uFFFD"), strings.ToValidUTF8(s.reasoning, "\uFFFD")
	return s
}

// In this test, an agent emits a random sequence of events. The order of the events in the stream must be one that the
// official SDKs accept. The stream must have the same content as the JSON document of a request without streaming.
func TestStreamsOfAnyTurn(t *testing.T) {
	var script turnScript
	l := open(t, runner(nil), func(o *Options) {
		o.ShowReasoning = true
		o.Runner = current{&script}
	})
	rapid.Check(t, func(t *rapid.T) {
		script = drawScript(t)
		usage := rapid.Bool().Draw(t, "usage")
		options := ""
		if usage {
			options = `"stream_options":{"include_usage":true},`
		}
		got, err := checkChat(l.stream("/v1/chat/completions", `{"model":"main","stream":true,`+options+`"messages":[{"role":"user","content":"hi"}]}`), usage)
		if err != nil {
			t.Fatal(err)
		}
		want := valid(script.want)
		want.finish = finishReason(script.result.Stop)
		if !usage {
			want.usage = -1
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("chunks: got %+v, want %+v", got, want)
		}
		got, err = checkResponse(l.stream("/v1/responses", `{"model":"main","stream":true,"store":false,"input":"hi"}`))
		if err != nil {
			t.Fatal(err)
		}
		want.finish, want.usage = "completed", 12
		if script.result.Stop == agent.StopLength || script.result.Stop == agent.StopFiltered {
			want.finish = "incomplete"
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("events: got %+v, want %+v", got, want)
		}
		var c completion
		l.document(&c, http.MethodPost, "/v1/chat/completions", `{"model":"main","messages":[{"role":"user","content":"hi"}]}`)
		said := c.Choices[0].Message
		text := ""
		if said.Content != nil {
			text = *said.Content
		}
		if text != want.text || said.ReasoningContent != want.reasoning || len(said.ToolCalls) != len(want.calls) || c.Usage.Total != 12 {
			t.Fatalf("document: got %+v, want %+v", said, want)
		}
	})
}

// current is a Runner that emits the events of the newest random script.
type current struct{ script *turnScript }

func (c current) Models() []string { return []string{"main"} }

func (c current) Run(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	for _, e := range c.script.events {
		emit(e)
	}
	return c.script.result, nil
}

// The client gets the model's reasoning only if the operator has allowed the server to send it. The client gets events
// about calls of telex's own tools only if the client requests these events.
func TestWhatIsNotTold(t *testing.T) {
	t.Parallel()
	l := open(t, says(agent.StopDone,
		agent.Reasoning{Delta: "hm"}, agent.Tool{ID: "t", Name: "time", Display: "time", State: agent.ToolExecuting}, agent.Text{Delta: "12:00"},
	), nil)
	const ask = `{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	got, err := checkChat(l.stream("/v1/chat/completions", ask), false)
	if want := (spoken{text: "12:00", finish: "stop", usage: -1}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	var tools []string
	for _, e := range l.stream("/v1/chat/completions", ask, "X-Telex-Events", "true") {
		if e.name != "" {
			tools = append(tools, e.name+" "+e.data)
		}
	}
	if want := `telex.tool {"type":"telex.tool","id":"t","name":"time","display":"time","state":"executing"}`; len(tools) != 1 || tools[0] != want {
		t.Errorf("got %q, want %q", tools, want)
	}
}

// The server can't remove text that it has sent. If the sent text was reasoning without an opening tag, the server must
// add a closing tag. If the model begins its answer again, the server must end the stream with an error.
func TestResets(t *testing.T) {
	t.Parallel()
	const ask = `{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	l := open(t, says(agent.StopDone,
		agent.Text{Delta: "Before."}, agent.Text{Delta: "\n\nI think"}, agent.Reset{Thought: true}, agent.Text{Delta: "Before."},
		agent.Reasoning{Delta: "I think"}, agent.Text{Delta: "\n\nYes."}, agent.Reasoning{Delta: "really"},
	), func(o *Options) { o.ShowReasoning = true })
	got, err := checkChat(l.stream("/v1/chat/completions", ask), false)
	if want := "Before.\n\nI think\n</think>\n\n\n\nYes."; err != nil || got.text != want {
		t.Errorf("got %q, %v, want %q", got.text, err, want)
	}
	l = open(t, says(agent.StopDone, agent.Text{Delta: "One"}, agent.Reset{}, agent.Text{Delta: "Two"}), nil)
	if got, err := checkChat(l.stream("/v1/chat/completions", ask), false); err != nil || got.text != "One" && got.text != "OneTwo" || got.failed == "" {
		t.Errorf("got %+v, %v, want an error behind One", got, err)
	}
	if got, err := checkResponse(l.stream("/v1/responses", `{"model":"main","stream":true,"input":"hi"}`)); err != nil || got.failed == "" {
		t.Errorf("got %+v, %v, want an error", got, err)
	}
	var c completion
	l.document(&c, http.MethodPost, "/v1/chat/completions", strings.Replace(ask, `"stream":true,`, "", 1))
	if *c.Choices[0].Message.Content != "Two" {
		t.Errorf("unstreamed, got %q", *c.Choices[0].Message.Content)
	}
}

// Each event of an answer's stream contains the id, the creation time and the model of the answer. The creation time is
// in Unix seconds.
func TestHeadOfAnswers(t *testing.T) {
	t.Parallel()
	l := open(t, hello(), nil)
	var r response
	l.document(&r, http.MethodPost, "/v1/responses", `{"model":"small/one","instructions":"Be brief.","metadata":{"a":"b"},"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}],"temperature":0.5,"max_output_tokens":100,"text":{"format":{"type":"json_object"},"verbosity":"low"}}`)
	age := time.Since(time.Unix(r.CreatedAt, 0))
	if !strings.HasPrefix(r.ID, "resp_") || age < -time.Minute || age > time.Minute || r.Model != "small/one" || *r.Instructions != "Be brief." ||
		r.Metadata["a"] != "b" || *r.Temperature != 0.5 || *r.MaxOutputTokens != 100 || string(r.Text.Format) != `{"type":"json_object"}` || *r.Text.Verbosity != "low" || r.Status != "completed" || r.Usage.InputDetails.Cached != 2 {
		t.Errorf("got %+v", r)
	}
	data, err := json.Marshal(r.Output)
	if want := `[{"content":[{"annotations":[],"logprobs":[],"text":"Hello, you \u003c\u0026\u003e.","type":"output_text"}],"id":"` + strings.Replace(r.ID, "resp_", "msg_", 1) + `_0","role":"assistant","status":"completed","type":"message"}]`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
}
