package responses_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/responses"
	"telex/standin/memnet"
	"telex/standin/openai"
)

// world is a model and the provider that the model talks to, in a synctest bubble.
type world struct {
	*responses.Model
	log     bytes.Buffer
	bodies  []map[string]any // the bodies of the requests
	headers []http.Header
	left    bool // the provider noticed that the client had gone
}

// inWorld runs f in a synctest bubble, with a provider whose handlers answer one request each. The last handler also answers
// all further requests.
func inWorld(t *testing.T, change func(*responses.Options), f func(*testing.T, *world), handlers ...http.HandlerFunc) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			var body map[string]any
			if err != nil || json.Unmarshal(data, &body) != nil || r.URL.Path != "/v1/responses" {
				t.Errorf("request %s %q", r.URL.Path, data)
			}
			handler := handlers[min(len(w.bodies), len(handlers)-1)]
			w.bodies, w.headers = append(w.bodies, body), append(w.headers, r.Header)
			handler(rw, r)
			w.left = r.Context().Err() != nil
		}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
		t.Cleanup(func() {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("the key is in the log:\n%s", w.log.String())
			}
		})
		transport := memnet.Serve(t, server).Transport(t)
		o := responses.Options{
			BaseURL: "http://provider/v1/", APIKey: secret, Model: "gpt-5-mini", Stream: true, Transport: transport,
			Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		}
		if change != nil {
			change(&o)
		}
		var err error
		if w.Model, err = responses.New(o); err != nil {
			t.Fatal(err)
		}
		f(t, w)
		synctest.Wait()
	})
}

// asked returns a request with one question.
func asked(question string) agent.Request {
	return agent.Request{Messages: []agent.Message{{Role: agent.User, Text: question}}}
}

// stream asks for a streamed answer and returns its text.
func (w *world) stream(ctx context.Context, r agent.Request) (string, agent.Completion, error) {
	var text strings.Builder
	c, err := w.Stream(ctx, r, func(d agent.Delta) { text.WriteString(d.Text) })
	return text.String(), c, err
}

func refuse(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
}

const (
	delta = `data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello"}` + "\n\n"
	end   = `data: {"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":3,"output_tokens":1}}}` + "\n\n"
	whole = `{"object":"response","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}]}`
)

func good() http.HandlerFunc { return body("text/event-stream", delta+end) }

func TestWireRequest(t *testing.T) {
	warm := float32(0)
	change := func(o *responses.Options) {
		o.Temperature, o.MaxOutputTokens, o.Summaries = &warm, 500, true
		o.Headers = map[string]string{"X-Team": "blue"}
	}
	inWorld(t, change, func(t *testing.T, w *world) {
		_, _, err := w.stream(t.Context(), agent.Request{
			System: "Be brief.",
			Messages: []agent.Message{
				{Role: agent.User, Text: "hi", Name: "ann"},
				{Role: agent.Assistant},
				{Role: agent.System, Text: "note"},
				{Role: agent.User, Text: "look", Images: []agent.Image{{MediaType: "image/png", Data: []byte{0xFF, 0xFE}}, {URL: "https://example.org/a.png"}}},
				{Role: agent.Assistant, Text: "Looking.", Reasoning: "hm", ToolCalls: []agent.ToolCall{
					{ID: "1", Name: "time", Extra: json.RawMessage(`{"google":{"thought_signature":"x"}}`)}, {ID: "2", Name: "eye", Arguments: `{"a":1}`},
				}},
				{Role: agent.ToolRole, ToolCallID: "1"},
				{Role: agent.ToolRole, ToolCallID: "2", Text: "this", Images: []agent.Image{{MediaType: "image/png", Data: []byte{0xFF, 0xFE}}}},
			},
			Tools: []agent.ToolSpec{
				{Name: "time", Description: "Tells the time."},
				{Name: "eye", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.MarshalIndent(w.bodies[0], "", " ")
		want, err := os.ReadFile("testdata/request.json")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != strings.TrimSpace(string(want)) {
			t.Errorf("got %s", got)
		}
		if h := w.headers[0]; h.Get("X-Team") != "blue" || h.Get("Authorization") != "Bearer "+secret {
			t.Errorf("headers %v", h)
		}
	}, good())
}

func TestWireOutputLimitOfARequest(t *testing.T) {
	for _, tt := range []struct {
		model, request int
		want           any
	}{{0, 0, nil}, {100, 0, 100.0}, {0, 50, 50.0}, {100, 50, 50.0}, {100, 200, 100.0}, {5, 0, 16.0}, {100, 1, 16.0}} {
		inWorld(t, func(o *responses.Options) { o.MaxOutputTokens = tt.model }, func(t *testing.T, w *world) {
			request := asked("hi")
			request.MaxOutput = tt.request
			if _, err := w.Stream(t.Context(), request, func(agent.Delta) {}); err != nil {
				t.Fatal(err)
			}
			if got := w.bodies[0]["max_output_tokens"]; got != tt.want {
				t.Errorf("model %d, request %d: asked for %v, want %v", tt.model, tt.request, got, tt.want)
			}
		}, body("application/json", whole))
	}
}

// If the provider has refused a parameter, later requests do not contain it.
func TestWireLearnsRefusals(t *testing.T) {
	warm := float32(0.7)
	change := func(o *responses.Options) { o.Temperature, o.Summaries = &warm, true }
	inWorld(t, change, func(t *testing.T, w *world) {
		if text, c, err := w.stream(t.Context(), asked("hi")); err != nil || text != "Hello" || c.Usage == nil || c.Usage.Prompt != 3 {
			t.Errorf("got %q, %+v, %v", text, c, err)
		}
		for i, param := range []string{"include", "reasoning", "temperature", "store"} {
			if _, ok := w.bodies[i][param]; !ok {
				t.Errorf("request %d lacks %s: %v", i+1, param, w.bodies[i])
			}
			if _, ok := w.bodies[i+1][param]; ok {
				t.Errorf("request %d has %s: %v", i+2, param, w.bodies[i+1])
			}
		}
		if _, _, err := w.stream(t.Context(), asked("again")); err != nil || len(w.bodies) != 6 {
			t.Errorf("%d requests, want 6: refusals are remembered; %v", len(w.bodies), err)
		}
		if n := strings.Count(w.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, w.log.String())
		}
	},
		refuse(400, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`),
		refuse(400, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","param":"reasoning.summary","code":"unsupported_value"}}`),
		refuse(400, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`),
		refuse(422, `{"detail":[{"loc":["body","store"],"msg":"Extra inputs are not permitted"}]}`),
		good())
}

func TestWireNoStreaming(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for i := range 2 {
			silent := false
			c, err := w.Stream(t.Context(), asked("hi"), func(d agent.Delta) { silent = silent || d.Whole })
			if err != nil || c.Text != "Hello" || !silent || c.Refused != 1-i || len(w.bodies) != 2+i || w.bodies[1+i]["stream"] != nil {
				t.Errorf("got %+v, %v, %d requests", c, err, len(w.bodies))
			}
		}
	},
		refuse(400, `{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}`),
		body("application/json", whole))
}

func TestWireInvalidAnswersWithoutStreaming(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		kind         agent.ErrorKind
	}{
		{"failed", `{"status":"failed","error":{"code":"server_error","message":"oh"},"output":[]}`, agent.Retryable},
		{"failed without a word", `{"status":"failed","error":null,"output":[]}`, agent.Broken},
		{"still at it", `{"status":"in_progress","output":[]}`, agent.Broken},
		{"of the other API", `{"object":"chat.completion","choices":[{"message":{"content":"Hello"}}]}`, agent.Broken},
		{"no JSON", `{"output":`, agent.Broken},
		{"an item of no shape", `{"status":"completed","output":[5]}`, agent.Broken},
	} {
		inWorld(t, nil, func(t *testing.T, w *world) {
			_, err := w.Stream(t.Context(), asked("hi"), func(agent.Delta) {})
			if me, ok := errors.AsType[*agent.ModelError](err); !ok || me.Kind != tt.kind {
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.kind)
			}
		}, body("application/json", tt.answer))
	}
}

// If a server does not close the stream after the answer, the finished answer is delayed only for a moment.
func TestWireStreamThatStaysOpen(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		began := time.Now()
		text, c, err := w.stream(t.Context(), asked("hi"))
		if err != nil || text != "Hello" || c.Usage == nil || time.Since(began) != time.Second {
			t.Errorf("got %q, %+v, %v after %v", text, c, err, time.Since(began))
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		good()(w, r)
		<-r.Context().Done()
	})
}

func TestWireCancelClosesTheConnection(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		text, _, err := w.stream(ctx, asked("hi"))
		if text != "Hello" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %q, %v", text, err)
		}
		synctest.Wait()
		if !w.left {
			t.Error("the connection is still open")
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		body("text/event-stream", delta)(w, r)
		<-r.Context().Done()
	})
}

// Stream emits a Delta for every event, even for an empty one, because the agent must know that the provider is alive.
func TestWireReportsEveryEvent(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		told := 0
		if _, err := w.Stream(t.Context(), asked("hi"), func(agent.Delta) { told++ }); err != nil || told != 4 {
			t.Errorf("told %d times, want 4; %v", told, err)
		}
	}, body("text/event-stream", ": a comment\n\ndata: {\"type\":\"response.created\",\"response\":{}}\n\ndata: {\"type\":\"keepalive\"}\n\n"+delta+end))
}

// Reasoning is sent back together with the calls that followed it, as long as the provider can read the reasoning.
func TestStandinGetsReasoningBack(t *testing.T) {
	both := apis()
	imitated(t, both[1], func(o *responses.Options) { o.Stream = false }, func(t *testing.T, m agent.Model, server *openai.Server) {
		question := agent.Message{Role: agent.User, Text: `{{standin require=reasoning_content think="Which zone?" call="now {}" call="now {\"a\":1}" say="Looking."}} hi`}
		first, err := m.Stream(t.Context(), agent.Request{Messages: []agent.Message{question}}, func(agent.Delta) {})
		if err != nil || len(first.ToolCalls) != 2 || first.ToolCalls[0].Extra == nil {
			t.Fatalf("got %+v, %v", first, err)
		}
		kept, err := json.Marshal(first.ToolCalls) // a journal stores the calls in this form
		if err != nil {
			t.Fatal(err)
		}
		var calls []agent.ToolCall
		if err := json.Unmarshal(kept, &calls); err != nil {
			t.Fatal(err)
		}
		talk := []agent.Message{
			question,
			{Role: agent.Assistant, Text: first.Text, ToolCalls: calls},
			{Role: agent.ToolRole, ToolCallID: calls[0].ID, Text: "noon"},
			{Role: agent.ToolRole, ToolCallID: calls[1].ID, Text: "one"},
		}
		second, err := m.Stream(t.Context(), agent.Request{Messages: talk}, func(agent.Delta) {})
		if want := "The tools answered:\n\n- now: noon\n- now: one"; err != nil || second.Text != want {
			t.Errorf("got %q, %v", second.Text, err)
		}
		types := inputTypes(t, server.Requests()[1].Body)
		if want := "[user reasoning assistant function_call function_call function_call_output function_call_output]"; types != want {
			t.Errorf("input %s, want %s", types, want)
		}
		// In the next turn, the reasoning is not needed any more.
		talk = append(talk, agent.Message{Role: agent.Assistant, Text: second.Text}, agent.Message{Role: agent.User, Text: "say: done"})
		if c, err := m.Stream(t.Context(), agent.Request{Messages: talk}, func(agent.Delta) {}); err != nil || c.Text != "done" {
			t.Errorf("got %q, %v", c.Text, err)
		}
		if types := inputTypes(t, server.Requests()[2].Body); strings.Contains(types, "reasoning") {
			t.Errorf("input %s", types)
		}
		// If the provider can't decode the reasoning, the request is repeated without the reasoning.
		broken := strings.Replace(string(kept), `"encrypted_content":"gAAAA`, `"encrypted_content":"gAAAAx`, 1)
		if err := json.Unmarshal([]byte(broken), &calls); err != nil || broken == string(kept) {
			t.Fatal(err, broken)
		}
		talk = talk[:4]
		talk[0].Text, talk[1].ToolCalls = "call: now {}", calls
		if c, err := m.Stream(t.Context(), agent.Request{Messages: talk}, func(agent.Delta) {}); err != nil || c.Text != second.Text {
			t.Errorf("got %q, %v", c.Text, err)
		}
		requests := server.Requests()
		if n := len(requests); n != 5 || requests[3].Status != http.StatusBadRequest {
			t.Errorf("%d requests, want 5 and the fourth refused", n)
		}
	})
}

// inputTypes lists the roles and types of a request's input.
func inputTypes(t *testing.T, request []byte) string {
	t.Helper()
	var r struct {
		Input []struct{ Type, Role string }
		Store *bool
	}
	if err := json.Unmarshal(request, &r); err != nil || r.Store == nil || *r.Store {
		t.Fatalf("%v: %s", err, request)
	}
	var list []string
	for _, item := range r.Input {
		list = append(list, item.Role+item.Type)
	}
	return fmt.Sprint(list)
}

// If a provider has refused reasoning in a request, later requests contain no reasoning.
func TestWireRefusedReasoning(t *testing.T) {
	talk := agent.Request{Messages: []agent.Message{
		{Role: agent.User, Text: "hi"},
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{
			ID: "1", Name: "f", Arguments: "{}",
			Extra: json.RawMessage(`{"responses":{"model":"gpt-5-mini","before":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}]}}`),
		}}},
		{Role: agent.ToolRole, ToolCallID: "1", Text: "done"},
	}}
	inWorld(t, nil, func(t *testing.T, w *world) {
		for range 2 {
			if text, _, err := w.stream(t.Context(), talk); err != nil || text != "Hello" {
				t.Errorf("got %q, %v", text, err)
			}
		}
		lengths := ""
		for _, b := range w.bodies {
			input, _ := b["input"].([]any)
			lengths += fmt.Sprint(len(input))
		}
		if lengths != "433" {
			t.Errorf("inputs of %s items, want 4, 3 and 3", lengths)
		}
	},
		refuse(400, `{"error":{"type":"invalid_request_error","message":"Item with id 'rs_1' not found. Items are not persisted when `+"`store`"+` is set to false. Try again with `+"`store`"+` set to true, or remove this item from your input."}}`),
		good())
}

// Some models mark each message as a remark or as an answer. Once an answer contains such a mark, requests mark remarks
// before tool calls as commentary, and answers as final_answer.
func TestWirePhases(t *testing.T) {
	talk := agent.Request{Messages: []agent.Message{
		{Role: agent.User, Text: "hi"},
		{Role: agent.Assistant, Text: "Looking.", ToolCalls: []agent.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
		{Role: agent.ToolRole, ToolCallID: "1", Text: "done"},
		{Role: agent.Assistant, Text: "Done."},
		{Role: agent.User, Text: "thanks"},
	}}
	phased := strings.Replace(whole, `"type":"message"`, `"type":"message","phase":"final_answer"`, 1)
	inWorld(t, nil, func(t *testing.T, w *world) {
		for i, want := range []string{"<nil> <nil> <nil> <nil> <nil> <nil>", "<nil> commentary <nil> <nil> final_answer <nil>"} {
			if _, err := w.Stream(t.Context(), talk, func(agent.Delta) {}); err != nil {
				t.Fatal(err)
			}
			var phases []string
			input, _ := w.bodies[i]["input"].([]any)
			for _, item := range input {
				fields, _ := item.(map[string]any)
				phases = append(phases, fmt.Sprint(fields["phase"]))
			}
			if got := strings.Join(phases, " "); got != want {
				t.Errorf("request %d: %s, want %s", i+1, got, want)
			}
		}
	}, body("application/json", phased))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := responses.New(responses.Options{}); err == nil || !strings.HasPrefix(err.Error(), "responses: ") {
		t.Errorf("got %v", err)
	}
	m, err := responses.New(responses.Options{BaseURL: "https://api.example/v1", Model: "m", APIKey: secret, Log: slog.New(slog.DiscardHandler)})
	if err != nil || m.Name() != "m" || strings.Contains(fmt.Sprintf("%v %+v", m, m), secret) {
		t.Errorf("model %v, %v", m, err)
	}
}
