package chatcompletions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/standin/memnet"
)

const secret = "sk-very-secret-key-4711"

// world is an agent and its provider, connected in memory. A world must be used in one synctest bubble.
type world struct {
	t       *testing.T
	agent   *agent.Agent
	model   *chatcompletions.Model
	log     bytes.Buffer
	left    atomic.Int64 // when the provider noticed that the client had gone, as a time.Duration; 0: never
	began   time.Time
	bodies  []map[string]any // the bodies of the requests
	headers []http.Header
}

// inWorld runs f in a synctest bubble, with a provider whose responses come from handler.
func inWorld(t *testing.T, handler http.HandlerFunc, change func(*chatcompletions.Options, *agent.Options), f func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, began: time.Now()}
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			var body map[string]any
			if err := json.Unmarshal(data, &body); err != nil {
				t.Errorf("request body %q: %v", data, err)
			}
			w.bodies = append(w.bodies, body)
			w.headers = append(w.headers, r.Header)
			r.Body = io.NopCloser(bytes.NewReader(data))
			handler(rw, r)
			if r.Context().Err() != nil {
				w.left.CompareAndSwap(0, int64(time.Since(w.began)))
			}
		}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
		transport := memnet.Serve(t, server).Transport(t)

		log := slog.New(slog.NewTextHandler(&w.log, nil))
		mo := chatcompletions.Options{
			Name: "main", BaseURL: "http://provider/v1/", APIKey: secret, Model: "gpt-5-mini",
			Stream: true, Transport: transport, Log: log,
		}
		ao := agent.Options{ThinkTags: []string{"think"}, Log: log}
		if change != nil {
			change(&mo, &ao)
		}
		var err error
		if w.model, err = chatcompletions.New(mo); err != nil {
			t.Fatal(err)
		}
		ao.Models = []agent.ModelOptions{{Model: w.model}}
		if w.agent, err = agent.New(ao); err != nil {
			t.Fatal(err)
		}
		f(t, w)
		synctest.Wait()
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the key is in the log:\n%s", w.log.String())
		}
	})
}

// outcome is the result of a turn.
type outcome struct {
	agent.Result
	events string
	err    error
}

func (w *world) ask(ctx context.Context, question string) outcome {
	w.t.Helper()
	var events []string
	result, err := w.agent.Run(ctx, agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: question}}}, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Text:
			events = append(events, e.Delta)
		case agent.Reasoning:
			events = append(events, "("+e.Delta+")")
		case agent.Reset:
			events = append(events, "RESET")
		}
	})
	if err != nil && strings.Contains(err.Error(), secret) {
		w.t.Errorf("the key is in the error: %v", err)
	}
	return outcome{Result: result, events: strings.Join(events, "|"), err: err}
}

func (o outcome) check(t *testing.T, stop agent.StopReason, text, events string) {
	t.Helper()
	if o.Stop != stop || o.Text != text || o.events != events {
		t.Errorf("got %s %q, events %q\nwant %s %q, events %q\nerror: %v", o.Stop, o.Text, o.events, stop, text, events, o.err)
	}
}

// sse returns a handler that sends the given frames as an event stream. Before each frame, the handler waits for the duration
// every.
func sse(every time.Duration, frames ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, f := range frames {
			select {
			case <-time.After(every):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, f)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

func refuse(status int, header map[string]string, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// inTurn returns a handler that passes each request to the next of the handlers. All further requests go to the last handler.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		h := handlers[min(n, len(handlers)-1)]
		n++
		h(w, r)
	}
}

// text returns a frame with a piece of text. The constant end contains the frames at the end of a complete stream.
func text(s string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s)
}

const (
	end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
	whole = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"All of it."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`
)

func TestWireAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		text    string
		events  string
	}{
		{"plain", sse(0, text("Hel"), text("lo"), end), "Hello", "Hel|lo"},
		{"in small pieces", sse(time.Millisecond, strings.Split(text("Hello")+end, "")...), "Hello", "Hello"},
		{"meaningless chunks in between (F10)", sse(0, text("Hel"),
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n",
			"data: {}\n\n", ": comment\n\n", text("lo"), end), "Hello", "Hel|lo"},
		{"no [DONE] and no usage", sse(0, text("Hello"), "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"), "Hello", "Hello"},
		{"think block and reasoning (F34)", sse(0, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"r\"}}]}\n\n", text("<th"), text("ink>a</think>Hello"), end), "Hello", "(r)|(a)|Hello"},
		{"JSON instead of a stream", body("application/json", whole), "All of it.", "All of it."},
		{"JSON after empty lines", body("application/json", "\n\n  "+whole), "All of it.", "All of it."},
		{"a stream called JSON", body("application/json", text("Hello")+end), "Hello", "Hello"},
		{"a stream called nothing", body("", ": hi\n\n"+text("Hello")+end), "Hello", "Hello"},
		{"a long line", sse(0, text(strings.Repeat("x", 1<<20)), end), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.handler, nil, func(t *testing.T, w *world) {
				got := w.ask(t.Context(), "hi")
				got.check(t, agent.StopDone, tt.text, tt.events)
				if got.err != nil || got.ModelCalls != 1 || len(w.bodies) != 1 {
					t.Errorf("error %v, %d calls, %d requests", got.err, got.ModelCalls, len(w.bodies))
				}
			})
		})
	}
}

// F09: if a stream ends before its finish_reason, the answer is requested once more.
func TestWireBreaksF09(t *testing.T) {
	abort := func(frames ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			sse(0, frames...)(w, r)
			panic(http.ErrAbortHandler)
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"clean end", sse(0, text("Hel"))},
		{"clean end with [DONE]", sse(0, text("Hel"), "data: [DONE]\n\n")},
		{"cut connection", abort(text("Hel"))},
		{"error object", sse(0, text("Hel"), "data: {\"error\":{\"message\":\"boom\",\"code\":502}}\n\n")},
		{"error of vLLM", sse(0, text("Hel"), "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}\n\n")},
		{"error event", sse(0, text("Hel"), ": c\n\nevent: error\ndata: {\"message\":\"boom\"}\n\n")},
		{"finish_reason error", sse(0, text("Hel"), "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n")},
		{"no JSON", sse(0, text("Hel"), "data: {\"choi\n\n")},
		{"an endless line", sse(0, text("Hel"), "data: "+strings.Repeat("x", 17<<20))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, inTurn(tt.handler, body("application/json", whole)), nil, func(t *testing.T, w *world) {
				got := w.ask(t.Context(), "hi")
				got.check(t, agent.StopDone, "All of it.", "Hel|RESET|All of it.")
				if got.Usage != (agent.Usage{Prompt: 5, Completion: 3}) || got.ModelCalls != 2 || got.err != nil {
					t.Errorf("usage %+v, %d calls, error %v", got.Usage, got.ModelCalls, got.err)
				}
				if w.bodies[0]["stream"] != true || w.bodies[1]["stream"] != true {
					t.Errorf("stream: %v, then %v", w.bodies[0]["stream"], w.bodies[1]["stream"])
				}
			})
		})
	}
}

// F08: if repeating a failed request would be useless, the turn ends after one request. The error names the cause, and does not
// contain the API key.
func TestWireFailsF08(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		kind    agent.ErrorKind
		text    string
	}{
		{"HTML", body("text/html", "<html>Welcome</html>"), agent.BadRequest, "check base_url"},
		{"HTML by its looks", body("", "<!doctype html>"), agent.BadRequest, "check base_url"},
		{"redirect", refuse(307, map[string]string{"Location": "http://elsewhere/"}, ""), agent.BadRequest, "redirects"},
		{"wrong key, quoted back", refuse(401, nil, `{"error":{"message":"Incorrect API key: `+secret+`","code":"`+secret+`"}}`), agent.Auth, "Incorrect API key: [redacted]"},
		{"wrong key in no JSON", refuse(401, nil, "key "+secret+" is wrong"), agent.Auth, "key [redacted] is wrong"},
		{"empty error", refuse(404, nil, ""), agent.BadRequest, "HTTP 404"},
		{"quota", refuse(429, nil, `{"error":{"message":"no money","code":"insufficient_quota"}}`), agent.Quota, "no money"},
		{"told not to try again", refuse(503, map[string]string{"X-Should-Retry": "false"}, `{"error":{"message":"no"}}`), agent.Retryable, "no"},
		{"too long a wait", refuse(429, map[string]string{"Retry-After": "3600"}, `{"error":{"message":"slow"}}`), agent.RateLimited, "retry after 1h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.handler, nil, func(t *testing.T, w *world) {
				got := w.ask(t.Context(), "hi")
				got.check(t, agent.StopError, "", "")
				var me *agent.ModelError
				if !errors.As(got.err, &me) || me.Kind != tt.kind || !strings.Contains(got.err.Error(), tt.text) {
					t.Errorf("error %v, want %s, %q", got.err, tt.kind, tt.text)
				}
				if len(w.bodies) != 1 || got.Elapsed != 0 {
					t.Errorf("%d requests, %v", len(w.bodies), got.Elapsed)
				}
			})
		})
	}
}

// If the provider refuses a question as too long, people get a fixed line, not an error.
func TestWireTooLong(t *testing.T) {
	long := refuse(400, nil, `{"error":{"message":"This model's maximum context length is 10 tokens.","code":"context_length_exceeded"}}`)
	inWorld(t, long, nil, func(t *testing.T, w *world) {
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopTooLong, agent.DefaultLines()[agent.StopTooLong], "")
		if got.err != nil || len(w.bodies) != 1 {
			t.Errorf("error %v, %d requests", got.err, len(w.bodies))
		}
	})
}

func TestWireImages(t *testing.T) {
	refused := refuse(404, nil, `{"error":{"message":"No endpoints found that support image input"}}`)
	inWorld(t, inTurn(refused, sse(0, text("Hello"), end)), nil, func(t *testing.T, w *world) {
		question := agent.Message{Role: agent.User, Text: "What is it?", Images: []agent.Image{{MediaType: "image/png", Data: []byte{0xFF, 0xFE}}, {URL: "https://example.org/a.png"}}}
		got, err := w.agent.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{question}}, func(agent.Event) {})
		if err != nil || got.Text != "Hello" || len(w.bodies) != 2 {
			t.Fatalf("got %q, error %v, %d requests", got.Text, err, len(w.bodies))
		}
		for i, want := range []string{
			"[map[content:[map[text:What is it? type:text] map[image_url:map[url:data:image/png;base64,//4=] type:image_url] map[image_url:map[url:https://example.org/a.png] type:image_url]] role:user]]",
			"[map[content:What is it?\n[image: not shown, this model takes no images]\n[image: not shown, this model takes no images] role:user]]",
		} {
			if got := fmt.Sprint(w.bodies[i]["messages"]); got != want {
				t.Errorf("request %d: %s, want %s", i+1, got, want)
			}
		}
	})
}

func TestWireOutputLimitOfARequest(t *testing.T) {
	for _, tt := range []struct {
		model, request int
		want           any
	}{{0, 0, nil}, {100, 0, 100.0}, {0, 50, 50.0}, {100, 50, 50.0}, {100, 200, 100.0}} {
		change := func(o *chatcompletions.Options, _ *agent.Options) { o.MaxOutputTokens = tt.model }
		inWorld(t, body("application/json", whole), change, func(t *testing.T, w *world) {
			request := agent.Request{Messages: []agent.Message{{Role: agent.User, Text: "hi"}}, MaxOutput: tt.request}
			if _, err := w.model.Stream(t.Context(), request, func(agent.Delta) {}); err != nil {
				t.Fatal(err)
			}
			if got := w.bodies[0]["max_completion_tokens"]; got != tt.want {
				t.Errorf("model %d, request %d: asked for %v, want %v", tt.model, tt.request, got, tt.want)
			}
		})
	}
}

func TestWireInvalidAnswersWithoutStreaming(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		kind    agent.ErrorKind
	}{
		{"error with status 200", body("application/json", `{"error":{"message":"busy"}}`), agent.Retryable},
		{"error with a status of its own", body("application/json", `{"error":{"message":"no","code":403}}`), agent.Auth},
		{"no choices", body("application/json", `{"choices":[]}`), agent.Broken},
		{"no JSON", body("application/json", `{"choices":`), agent.Broken},
		{"nothing", body("application/json", ``), agent.Broken},
		{"something else", body("text/plain", `Hello`), agent.BadRequest},
		{"cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			body("application/json", "{")(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, agent.Broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, tt.handler, func(o *chatcompletions.Options, _ *agent.Options) { o.Stream = false }, func(t *testing.T, w *world) {
				_, err := w.model.Stream(t.Context(), agent.Request{}, func(agent.Delta) {})
				var me *agent.ModelError
				if !errors.As(err, &me) || me.Kind != tt.kind {
					t.Errorf("got %v, want %s", err, tt.kind)
				}
			})
		})
	}
}

func TestWireRetries(t *testing.T) {
	busy := refuse(503, nil, `{"error":{"message":"busy"}}`)
	slow := refuse(429, map[string]string{"Retry-After": "20"}, `{"error":{"message":"slow down"}}`)
	good := sse(0, text("Hello"), end)
	inWorld(t, inTurn(busy, slow, refuse(400, map[string]string{"X-Should-Retry": "true"}, `{"error":{"message":"again"}}`), good), nil, func(t *testing.T, w *world) {
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopDone, "Hello", "Hello")
		if got.Elapsed < 20*time.Second || got.Elapsed > 25*time.Second || got.ModelCalls != 4 || len(w.bodies) != 4 {
			t.Errorf("took %v, %d calls, %d requests", got.Elapsed, got.ModelCalls, len(w.bodies))
		}
	})
	inWorld(t, inTurn(sse(0, ": hi\n\n"), good), nil, func(t *testing.T, w *world) { // the stream breaks before the first token
		w.ask(t.Context(), "hi").check(t, agent.StopDone, "Hello", "Hello")
	})
	inWorld(t, good, func(o *chatcompletions.Options, _ *agent.Options) {
		o.Transport = &http.Transport{DialContext: memnet.Refuse}
	}, func(t *testing.T, w *world) {
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopError, "", "")
		if !errors.Is(got.err, memnet.ErrRefused) || got.Elapsed < 2*time.Second {
			t.Errorf("took %v, error %v", got.Elapsed, got.err)
		}
	})
}

// F60: the limit on silence counts from the last event with content. Comments in the stream don't end the silence.
func TestWireSilenceF60(t *testing.T) {
	limit := func(_ *chatcompletions.Options, o *agent.Options) {
		o.Limits.FirstToken, o.Limits.Silence = 10*time.Second, 10*time.Second
	}
	frames := []string{text("Hel"), "data: {\"choices\":[]}\n\n"}
	for range 100 {
		frames = append(frames, ": keep-alive\n\n")
	}
	inWorld(t, sse(9*time.Second, frames...), limit, func(t *testing.T, w *world) {
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopSilence, "Hel", "Hel")
		if got.Elapsed != 38*time.Second { // two attempts, each with 9 s until the text and 10 s of silence; an event without content counts as silence
			t.Errorf("took %v, want 38s", got.Elapsed)
		}
		synctest.Wait()
		if w.left.Load() == 0 {
			t.Error("the connection is still open")
		}
	})
	inWorld(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, limit, func(t *testing.T, w *world) { // the provider sends nothing at all
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopFirstToken, "", "")
		if got.Elapsed != 20*time.Second {
			t.Errorf("took %v, want 20s", got.Elapsed)
		}
	})
}

// If a server does not close the stream after the answer, the finished answer is delayed only for a moment.
func TestWireStreamThatStaysOpen(t *testing.T) {
	inWorld(t, func(w http.ResponseWriter, r *http.Request) {
		sse(0, text("Hello"), "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")(w, r)
		<-r.Context().Done()
	}, nil, func(t *testing.T, w *world) {
		got := w.ask(t.Context(), "hi")
		got.check(t, agent.StopDone, "Hello", "Hello")
		if got.Elapsed != 5*time.Second {
			t.Errorf("took %v", got.Elapsed)
		}
	})
}

func TestWireCancelClosesTheConnection(t *testing.T) {
	inWorld(t, func(w http.ResponseWriter, r *http.Request) {
		sse(time.Second, text("Hel"), text("lo"), text("!"))(w, r)
		<-r.Context().Done()
	}, nil, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		got := w.ask(ctx, "hi")
		got.check(t, agent.StopCancelled, "Hello", "Hel|lo")
		if !got.Partial || got.Elapsed != 2500*time.Millisecond {
			t.Errorf("partial %v after %v", got.Partial, got.Elapsed)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if left := time.Duration(w.left.Load()); left == 0 || left > 2600*time.Millisecond {
			t.Errorf("the provider noticed after %v, want at most 2.6s", left)
		}
	})
}

func TestWireLearnsRefusals(t *testing.T) {
	zero := float32(0)
	var handler http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		var req map[string]any
		_ = json.NewDecoder(r.Body).Decode(&req)
		for _, param := range []string{"stream_options", "max_completion_tokens", "temperature"} {
			if _, ok := req[param]; ok {
				refuse(400, nil, `{"error":{"message":"Unrecognized request argument supplied: `+param+`"}}`)(w, r)
				return
			}
		}
		if req["stream"] == true {
			refuse(400, nil, `{"error":{"message":"no streaming with this model","param":"stream","code":"unsupported_value"}}`)(w, r)
			return
		}
		body("application/json", whole)(w, r)
	}
	inWorld(t, handler, func(o *chatcompletions.Options, _ *agent.Options) {
		o.MaxOutputTokens, o.Temperature = 100, &zero
	}, func(t *testing.T, w *world) {
		w.ask(t.Context(), "hi").check(t, agent.StopDone, "All of it.", "All of it.")
		if len(w.bodies) != 5 {
			t.Errorf("%d requests, want 5", len(w.bodies))
		}
		first, last := w.bodies[0], w.bodies[len(w.bodies)-1]
		if first["temperature"] != 0.0 || first["max_completion_tokens"] != 100.0 || fmt.Sprint(first["stream_options"]) != "map[include_usage:true]" {
			t.Errorf("first request %v", first)
		}
		if last["max_tokens"] != 100.0 || last["stream"] != false {
			t.Errorf("last request %v", last)
		}
		w.ask(t.Context(), "again").check(t, agent.StopDone, "All of it.", "All of it.")
		if len(w.bodies) != 6 {
			t.Errorf("%d requests, want 6: refusals are remembered", len(w.bodies))
		}
	})
}

// go-openai refuses some parameters because of the model's name. telex must send them anyway, because only the provider knows
// which parameters a model accepts.
func TestWireSendsTemperatureToAnyModel(t *testing.T) {
	warm := float32(0.7)
	refused := refuse(400, nil, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.7 with this model.","param":"temperature","code":"unsupported_value"}}`)
	inWorld(t, inTurn(refused, sse(0, text("Hello"), end)), func(o *chatcompletions.Options, _ *agent.Options) { o.Temperature = &warm }, func(t *testing.T, w *world) {
		for range 2 {
			w.ask(t.Context(), "hi").check(t, agent.StopDone, "Hello", "Hello")
		}
		if w.bodies[0]["temperature"] != 0.7 || len(w.bodies) != 3 || strings.Count(w.log.String(), "level=WARN") != 1 {
			t.Errorf("requests %v, log %s", w.bodies, w.log.String())
		}
		if _, ok := w.bodies[2]["temperature"]; ok {
			t.Errorf("the refusal is forgotten: %v", w.bodies[2])
		}
	})
}

func TestWireRequest(t *testing.T) {
	warm := float32(0.5)
	inWorld(t, sse(0, text("Hello"), end), func(o *chatcompletions.Options, _ *agent.Options) {
		o.Model, o.Temperature = "some-model", &warm
		o.Headers = map[string]string{"X-Team": "blue", "Authorization": "Bearer other-secret"}
	}, func(t *testing.T, w *world) {
		_, err := w.model.Stream(t.Context(), agent.Request{System: "Be brief.", Messages: []agent.Message{
			{Role: agent.User, Text: "hi", Name: "ann"},
			{Role: agent.Assistant},
			{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "1", Name: "time", Arguments: "{}"}}},
			{Role: agent.ToolRole, ToolCallID: "1"},
		}}, func(agent.Delta) {})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(w.bodies[0])
		want := `{"messages":[{"content":"Be brief.","role":"system"},{"content":"hi","name":"ann","role":"user"},` +
			`{"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"time"},"id":"1","type":"function"}]},` +
			`{"content":"(no output)","role":"tool","tool_call_id":"1"}],` +
			`"model":"some-model","stream":true,"stream_options":{"include_usage":true},"temperature":0.5}`
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if h := w.headers[0]; h.Get("X-Team") != "blue" || h.Get("Authorization") != "Bearer other-secret" {
			t.Errorf("headers %v", h)
		}
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	good := chatcompletions.Options{BaseURL: "https://api.example/v1", Model: "m", Log: log, APIKey: secret}
	m, err := chatcompletions.New(good)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "m" {
		t.Errorf("name %q", m.Name())
	}
	if s := fmt.Sprintf("%v %+v %s", m, m, m.LogValue()); strings.Contains(s, secret) {
		t.Errorf("printed: %s", s)
	}
	hot := float32(3)
	for want, change := range map[string]func(*chatcompletions.Options){
		"http:// or https://": func(o *chatcompletions.Options) { o.BaseURL = "api.example" },
		"invalid base URL":    func(o *chatcompletions.Options) { o.BaseURL = "http://%" },
		"no model":            func(o *chatcompletions.Options) { o.Model = "" },
		"negative":            func(o *chatcompletions.Options) { o.MaxOutputTokens = -1 },
		"temperature 3":       func(o *chatcompletions.Options) { o.Temperature = &hot },
		"no logger":           func(o *chatcompletions.Options) { o.Log = nil },
	} {
		o := good
		change(&o)
		if _, err := chatcompletions.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
