package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/standin/memnet"
)

// recall is a runner that answers with the messages of the turn, so that tests see the history.
func recall(_ context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	var said []string
	if t.Context != "" {
		said = append(said, "["+t.Context+"]")
	}
	if t.Summary != "" {
		said = append(said, "("+t.Summary+")")
	}
	for _, m := range t.Messages {
		said = append(said, string(m.Role[:1])+":"+m.Text)
	}
	text := strings.Join(said, " ")
	emit(agent.Text{Delta: text})
	r := agent.Result{Stop: agent.StopDone, Append: []agent.Message{{Role: agent.Assistant, Text: fmt.Sprintf("#%d", len(t.Messages))}}}
	r.UsageByModel = []agent.ModelUsage{{Model: "main", Calls: 1, Usage: agent.Usage{Prompt: 60, Completion: 40}}}
	if strings.HasSuffix(text, "summarize") {
		r.Compaction = &agent.Compaction{Summary: "S", Messages: len(t.Messages) - 1}
	}
	return r, nil
}

// asks sends a question with Chat Completions and returns the text of the answer.
func (l *lab) asks(body string, head ...string) string {
	l.Helper()
	var c completion
	l.document(&c, http.MethodPost, "/v1/chat/completions", body, head...)
	return *c.Choices[0].Message.Content
}

func message(role, text string) string {
	return `{"role":"` + role + `","content":"` + text + `"}`
}

// telex stores the history of requests that belong to a session, and no history of other requests.
func TestSessions(t *testing.T) {
	t.Parallel()
	l := open(t, runner(recall), nil)
	ask := func(more string, messages ...string) string {
		return `{"model":"main"` + more + `,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	session := []string{"X-Telex-Session", "s1"}
	for _, tt := range []struct {
		name, body, want string
		head             []string
	}{
		{"stateless", ask("", message("user", "a")), "u:a", nil},
		{"still stateless", ask("", message("user", "b")), "u:b", nil},
		{"a session", ask("", message("user", "a")), "u:a", session},
		{"goes on", ask("", message("system", "rules"), message("user", "b")), "[rules] u:a a:#1 u:b", session},
		{"sent whole", ask("", message("user", "a"), message("assistant", "x"), message("user", "b"), message("assistant", "y"), message("user", "c")), "u:a a:#1 u:b a:#3 u:c", session},
		{"another one", ask("", message("user", "d")), "u:d", []string{"X-Telex-Session", "s2"}},
		{"by user", ask(`,"user":"ann"`, message("user", "e")), "u:e", nil},
		{"by user, again", ask(`,"user":"ann"`, message("user", "f")), "u:e a:#1 u:f", nil},
		{"a history of its own", ask(`,"user":"ann"`, message("user", "g"), message("assistant", "x"), message("user", "h")), "u:g a:x u:h", nil},
		{"any user", ask(`,"user":"a b/ü"`, message("user", "i")), "u:i", nil},
		{"summarized", ask("", message("user", "summarize")), "u:d a:#1 u:summarize", []string{"X-Telex-Session", "s2"}},
		{"after it", ask("", message("user", "j")), "(S) u:summarize a:#3 u:j", []string{"X-Telex-Session", "s2"}},
	} {
		if got := l.asks(tt.body, tt.head...); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if status, data := l.call(http.MethodPost, "/v1/chat/completions", ask("", message("user", "a"), message("assistant", "x")), session...); status != 400 {
		t.Errorf("nothing new: got %d: %s", status, data)
	}
	used, err := l.store.Used(t.Context(), chat.UsageOf{Person: chat.Person{Endpoint: "api", User: "laptop"}})
	if err != nil || used.Turns != 12 || used.Prompt != 12*60 {
		t.Errorf("used %+v, %v", used, err)
	}
	l = open(t, runner(recall), func(o *Options) { o.SessionsByUser = false })
	for _, want := range []string{"u:a", "u:a"} {
		if got := l.asks(ask(`,"user":"ann"`, message("user", "a"))); got != want {
			t.Errorf("not by user: got %q, want %q", got, want)
		}
	}
}

// Requests of one session run one after the other. Each request includes the messages of the earlier requests.
func TestSessionOrder(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	l := open(t, runner(func(ctx context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(time.Millisecond) // give the other requests time to run
		return recall(ctx, turn, emit)
	}), nil)
	var wg sync.WaitGroup
	lengths := make([]int, 20)
	for i := range lengths {
		wg.Go(func() {
			lengths[i] = strings.Count(l.asks(`{"model":"main","messages":[{"role":"user","content":"x"}]}`, "X-Telex-Session", "s"), "u:")
		})
	}
	wg.Wait()
	seen := make(map[int]bool)
	for _, n := range lengths {
		seen[n] = true
	}
	if len(seen) != len(lengths) || most.Load() != 1 {
		t.Errorf("histories of %v messages, %d at once", lengths, most.Load())
	}
}

// A client can continue, read and delete a stored response only with the key with which the response was created.
func TestStoredResponses(t *testing.T) {
	t.Parallel()
	l := open(t, runner(recall), func(o *Options) {
		o.Keys = append(o.Keys, Key{Name: "other", Secret: "other-secret"})
	})
	text := func(r response) string {
		data, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		var out []outputMessage
		var parts []outputText
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		data, err = json.Marshal(out[0].Content)
		if err = errors.Join(err, json.Unmarshal(data, &parts)); err != nil {
			t.Fatal(err)
		}
		return parts[0].Text
	}
	send := func(input, before, more string) (r response) {
		t.Helper()
		if before != "" {
			more += `,"previous_response_id":"` + before + `"`
		}
		l.document(&r, http.MethodPost, "/v1/responses", `{"model":"main","input":`+input+more+`}`)
		return r
	}
	ask := func(input, before, more string) response { return send(`"`+input+`"`, before, more) }
	first := ask("a", "", "")
	second := ask("b", first.ID, "")
	third := ask("c", second.ID, `,"instructions":"new rules"`)
	branch := ask("d", first.ID, "")
	unkept := ask("e", third.ID, `,"store":false`)
	for _, tt := range []struct {
		r    response
		want string
	}{{first, "u:a"}, {second, "u:a a:#1 u:b"}, {third, "[new rules] u:a a:#1 u:b a:#3 u:c"}, {branch, "u:a a:#1 u:d"}, {unkept, "u:a a:#1 u:b a:#3 u:c a:#5 u:e"}} {
		if got := text(tt.r); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if string(first.Text.Format) != `{"type":"text"}` {
		t.Errorf("got format %s", first.Text.Format)
	}
	if third.Previous == nil || *third.Previous != second.ID {
		t.Errorf("got %v, want the id of the response before", third.Previous)
	}
	shorter := ask("summarize", third.ID, "")
	if got := text(ask("f", shorter.ID, "")); got != "(S) u:summarize a:#7 u:f" {
		t.Errorf("after a summary: got %q", got)
	}
	// System messages apply to the whole conversation, and instructions apply only to one answer.
	ruled := send("["+message("system", "R1")+","+message("user", "g")+"]", "", `,"instructions":"once"`)
	more := send("["+message("user", "h")+","+message("developer", "R2")+"]", ruled.ID, "")
	summed := ask("summarize", more.ID, "")
	for _, tt := range []struct {
		r    response
		want string
	}{
		{ruled, "[once\n\nR1] u:g"},
		{more, "[R1\n\nR2] u:g a:#1 u:h"},
		{summed, "[R1\n\nR2] u:g a:#1 u:h a:#3 u:summarize"},
		{ask("i", summed.ID, `,"instructions":"twice"`), "[twice\n\nR1\n\nR2] (S) u:summarize a:#5 u:i"},
	} {
		if got := text(tt.r); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	var read response
	l.document(&read, http.MethodGet, "/v1/responses/"+second.ID, "")
	if read.ID != second.ID || text(read) != text(second) || read.Status != "completed" {
		t.Errorf("got %+v", read)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status, data := l.call(method, "/v1/responses/"+second.ID, "", "Authorization", "Bearer other-secret"); status != 404 {
			t.Errorf("%s by another key: got %d: %s", method, status, data)
		}
	}
	var deleted struct {
		ID      string
		Deleted bool
	}
	l.document(&deleted, http.MethodDelete, "/v1/responses/"+second.ID, "")
	if deleted.ID != second.ID || !deleted.Deleted {
		t.Errorf("got %+v", deleted)
	}
	for _, id := range []string{second.ID, unkept.ID} {
		if status, data := l.call(http.MethodGet, "/v1/responses/"+id, ""); status != 404 {
			t.Errorf("got %d: %s", status, data)
		}
	}
}

// If a client repeats a request, it gets the same response without a new turn. The server refuses the repetition if
// its body differs from the first request, or if the first request is still running.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	var turns atomic.Int64
	hold := make(chan struct{})
	l := open(t, runner(func(ctx context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		turns.Add(1)
		if turn.Messages[0].Text == "wait" {
			<-hold
		}
		if turn.Messages[0].Text == "fail" {
			return agent.Result{}, &agent.Error{Reason: agent.StopError, Err: errors.New("no")}
		}
		emit(agent.Text{Delta: "One "})
		emit(agent.Text{Delta: "two."})
		emit(agent.Call{ID: "c1", Name: "weather", Arguments: `{"a":`})
		emit(agent.Call{ID: "c1", Name: "weather", Arguments: `1}`})
		return agent.Result{Stop: agent.StopClientCalls}, nil
	}), func(o *Options) { o.Keys = append(o.Keys, Key{Name: "other", Secret: "other-secret"}) })
	for i, tt := range []struct{ path, body string }{
		{"/v1/chat/completions", chatting("")},
		{"/v1/responses", `{"model":"main","input":"hi","tools":[{"type":"function","name":"weather"}],"instructions":"x"}`},
	} {
		key := []string{"Idempotency-Key", fmt.Sprint("k", i)}
		_, first := l.call(http.MethodPost, tt.path, tt.body, key...)
		status, again := l.call(http.MethodPost, tt.path, tt.body, key...)
		if status != 200 || first != again {
			t.Errorf("got %d: %s, want %s", status, again, first)
		}
		if status, data := l.call(http.MethodPost, tt.path, strings.Replace(tt.body, "hi", "ho", 1), key...); status != 422 {
			t.Errorf("another body: got %d: %s", status, data)
		}
	}
	if turns.Load() != 2 {
		t.Errorf("%d turns, want 2", turns.Load())
	}
	// An idempotency key belongs to one client, API and session.
	both := `{"model":"main","messages":[{"role":"user","content":"hi"}],"input":"hi"}`
	for _, tt := range []struct {
		path string
		head []string
		want int
	}{
		{"/v1/chat/completions", nil, 200},
		{"/v1/responses", nil, 422},
		{"/v1/chat/completions", []string{"X-Telex-Session", "s"}, 422},
		{"/v1/chat/completions", []string{"Authorization", "Bearer other-secret"}, 200},
	} {
		if status, data := l.call(http.MethodPost, tt.path, both, append([]string{"Idempotency-Key", "both"}, tt.head...)...); status != tt.want {
			t.Errorf("%s %v: got %d: %s, want %d", tt.path, tt.head, status, data, tt.want)
		}
	}
	if turns.Load() != 4 {
		t.Errorf("%d turns, want 4: another client's request is another one", turns.Load())
	}
	turns.Store(2)
	body := chatting(`,"stream":true`)
	first, err := checkChat(l.stream("/v1/chat/completions", body, "Idempotency-Key", "s"), false)
	again, err2 := checkChat(l.stream("/v1/chat/completions", body, "Idempotency-Key", "s"), false)
	if err = errors.Join(err, err2); err != nil || fmt.Sprint(first) != fmt.Sprint(again) || turns.Load() != 3 {
		t.Errorf("got %+v and %+v, %v", first, again, err)
	}
	for range 2 {
		if status, _ := l.call(http.MethodPost, "/v1/chat/completions", strings.Replace(chatting(""), "hi", "fail", 1), "Idempotency-Key", "f"); status != 502 {
			t.Errorf("a failed request: got %d", status)
		}
	}
	if turns.Load() != 5 {
		t.Errorf("%d turns, want that a failed request is tried again", turns.Load())
	}
	waiting := strings.Replace(chatting(""), "hi", "wait", 1)
	done := make(chan int)
	go func() {
		status, _ := l.call(http.MethodPost, "/v1/chat/completions", waiting, "Idempotency-Key", "w")
		done <- status
	}()
	for turns.Load() < 6 {
		time.Sleep(time.Millisecond) // give the other request time to start
	}
	if status, data := l.call(http.MethodPost, "/v1/chat/completions", waiting, "Idempotency-Key", "w"); status != 409 {
		t.Errorf("while it is answered: got %d: %s", status, data)
	}
	close(hold)
	if status := <-done; status != 200 {
		t.Errorf("got %d", status)
	}
}

// The server remembers only a limited number of answers for requests that may be repeated.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	p := newRepeats()
	for i := range 3 * maxCached {
		key := fmt.Sprint(i)
		if known, err := p.begin(key, [32]byte{}); known != nil || err != nil {
			t.Fatal(known, err)
		}
		x := &exchange{answerHead: answerHead{query: &query{}}}
		x.answer.add(agent.Text{Delta: strings.Repeat("x", 100<<10)})
		p.end(key, x, &outcome{})
	}
	if len(p.entries) != len(p.order) || len(p.entries) > maxCached || p.bytes > maxCachedBytes {
		t.Errorf("%d keys, %d answers, %d bytes", len(p.entries), len(p.order), p.bytes)
	}
}

// If a client repeats a request after more than a day, the server runs a new turn.
func TestRepeatsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newRepeats()
		if known, err := p.begin("k", [32]byte{}); known != nil || err != nil {
			t.Fatal(known, err)
		}
		p.end("k", &exchange{answerHead: answerHead{query: &query{}}}, &outcome{})
		time.Sleep(cacheLifetime)
		if known, err := p.begin("k", [32]byte{}); known == nil || err != nil {
			t.Errorf("got %v, %v, want the answer", known, err)
		}
		time.Sleep(time.Second)
		if known, err := p.begin("k", [32]byte{}); known != nil || err != nil || p.bytes != 0 {
			t.Errorf("after a day: got %v, %v, and %d bytes are kept", known, err, p.bytes)
		}
	})
}

// A client's limit of turns per minute counts the turns of the last 60 seconds.
func TestTurnsPerMinute(t *testing.T) {
	t.Parallel()
	c := client{Key: Key{TurnsPerMinute: 2}}
	at := time.Now()
	for _, tt := range []struct{ after, want time.Duration }{
		{0, 0}, {30 * time.Second, 0}, {40 * time.Second, 20 * time.Second}, {60 * time.Second, 0}, {61 * time.Second, 29 * time.Second}, {90 * time.Second, 0},
	} {
		if got := c.takeTurn(at.Add(tt.after)); got != tt.want {
			t.Errorf("after %v: wait %v, want %v", tt.after, got, tt.want)
		}
	}
}

// If the server can't store a session or a response, the client must get an error instead of the end of the answer. If
// only the usage can't be stored, the client gets the answer without an error.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	l := open(t, hello(), nil)
	l.store.fails = errors.New("disk full")
	for _, tt := range []struct {
		path, body string
		status     int
		head       []string
	}{
		{"/v1/responses", `{"model":"main","input":"hi"}`, 500, nil},
		{"/v1/responses", `{"model":"main","input":"hi","store":false}`, 200, nil},
		{"/v1/chat/completions", chatting(""), 200, nil},
		{"/v1/chat/completions", chatting(""), 500, []string{"X-Telex-Session", "s"}},
	} {
		if status, data := l.call(http.MethodPost, tt.path, tt.body, tt.head...); status != tt.status || strings.Contains(data, "disk full") {
			t.Errorf("%s %s: got %d: %s, want %d", tt.path, tt.body, status, data, tt.status)
		}
	}
	if got, err := checkResponse(l.stream("/v1/responses", `{"model":"main","input":"hi","stream":true}`)); err != nil || got.failed == "" || got.finish != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// If a session is deleted while one of its turns runs, the turn does not store the session again.
func TestForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	var l *lab
	l = open(t, runner(func(ctx context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		if turn.Messages[len(turn.Messages)-1].Text == "forget" {
			if err := l.store.Forget(ctx, chat.Conversation{Endpoint: "api", Chat: "laptop", Thread: "s"}); err != nil {
				return agent.Result{}, err
			}
		}
		return recall(ctx, turn, emit)
	}), nil)
	for _, tt := range []struct{ say, want string }{{"a", "u:a"}, {"b", "u:a a:#1 u:b"}, {"forget", "u:a a:#1 u:b a:#3 u:forget"}, {"c", "u:c"}} {
		if got := l.asks(`{"model":"main","messages":[`+message("user", tt.say)+`]}`, "X-Telex-Session", "s"); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// When the server stops, it gives running requests some time to end. If a request takes longer, the client of this
// request gets an error.
func TestStopping(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]string{800 * time.Millisecond: "[DONE]", time.Hour: "shutting_down"} {
		var began, ended time.Time
		stopping(t, runner(func(ctx context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
			emit(agent.Text{Delta: "One"})
			select {
			case <-time.After(takes):
				return agent.Result{Stop: agent.StopDone}, nil
			case <-ctx.Done():
				return agent.Result{}, &agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
			}
		}), func(conn net.Conn, stop func()) {
			if _, err := io.WriteString(conn, wireRequest(chatting(`,"stream":true`))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			began = time.Now()
			stop()
			data, _ := io.ReadAll(conn)
			if ended = time.Now(); !strings.Contains(string(data), want) {
				t.Errorf("%v: got %s, want %s", takes, data, want)
			}
		})
		if took := ended.Sub(began); took > 2500*time.Millisecond {
			t.Errorf("stopping took %v", took)
		}
	}
}

// Each key has limits of its own. In addition, the limits of the daemon apply to all API keys together.
func TestLimits(t *testing.T) {
	t.Parallel()
	l := open(t, runner(recall), func(o *Options) {
		o.Keys = []Key{{Name: "laptop", Secret: secret, TurnsPerMinute: 2}, {Name: "poor", Secret: "poor", TokensPerDay: 150}, {Name: "free", Secret: "free"}}
		o.TokensPerDay = 500
	})
	ask := func(key string) received {
		return l.request(t.Context(), http.MethodPost, "/v1/chat/completions", chatting(""), "Authorization", "Bearer "+key)
	}
	for i, want := range []int{200, 200, 429} {
		res := ask(secret)
		if res.StatusCode != want || (want == 429) != (res.Header.Get("Retry-After") != "") {
			t.Errorf("request %d: got %d, %v, want %d", i, res.StatusCode, res.Header, want)
		}
	}
	for i, want := range []int{200, 200, 429} {
		if res := ask("poor"); res.StatusCode != want || want == 429 && res.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("request %d of the poor: got %d, want %d", i, res.StatusCode, want)
		}
	}
	for i, want := range []int{200, 429} {
		if res := ask("free"); res.StatusCode != want {
			t.Errorf("request %d of the free: got %d, want %d", i, res.StatusCode, want)
		}
	}
}

// The server limits the number of simultaneous requests. When a request ends, the server accepts another request.
func TestMaxRequests(t *testing.T) {
	t.Parallel()
	hold, began := make(chan struct{}), make(chan struct{})
	l := open(t, runner(func(context.Context, agent.Turn, func(agent.Event)) (agent.Result, error) {
		began <- struct{}{}
		<-hold
		return agent.Result{Stop: agent.StopDone}, nil
	}), func(o *Options) { o.MaxRequests = 3 })
	for range 3 {
		results := make(chan int)
		for range 3 {
			go func() {
				status, _ := l.call(http.MethodPost, "/v1/chat/completions", chatting(""))
				results <- status
			}()
			<-began
		}
		res := l.request(t.Context(), http.MethodPost, "/v1/chat/completions", chatting(""))
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
			t.Errorf("got %d, %v", res.StatusCode, res.Header)
		}
		if status, _ := l.call(http.MethodGet, "/v1/models", ""); status != 200 {
			t.Errorf("models: got %d", status)
		}
		for range 3 {
			hold <- struct{}{}
			if status := <-results; status != 200 {
				t.Errorf("got %d", status)
			}
		}
	}
}

// If a client disconnects, the turn of the client's request ends at once. The test disconnects with and without
// streaming, before and after the first piece.
func TestClientGone(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	began := make(chan struct{}, 1)
	l := open(t, runner(func(ctx context.Context, turn agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		if strings.HasPrefix(turn.Messages[0].Text, "some") {
			emit(agent.Text{Delta: "One"})
		}
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return agent.Result{UsageByModel: []agent.ModelUsage{{Model: "main", Calls: 1, Usage: agent.Usage{Prompt: 5}}}}, &agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
	}), nil)
	for _, body := range []string{chatting(""), chatting(`,"stream":true`), strings.Replace(chatting(`,"stream":true`), "hi", "some", 1)} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		done := make(chan struct{})
		go func() {
			defer close(done)
			res, err := l.http.Do(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body) // read until the client disconnects
				_ = res.Body.Close()
			}
		}()
		<-began
		leave()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the turn goes on", body)
		}
		<-done
	}
	for until := time.Now().Add(10 * time.Second); ; {
		used, err := l.store.Used(t.Context(), chat.UsageOf{})
		if err != nil {
			t.Fatal(err)
		}
		if used.Prompt == 15 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("used %+v, want what the cancelled turns used", used)
		}
		time.Sleep(time.Millisecond)
	}
}

// A client closes only its sending side, which the server can't distinguish from a disconnect, so the turn ends. When
// the turn ends, the client must get an error, not an empty successful response.
func TestHalfClosedConnection(t *testing.T) {
	t.Parallel()
	l := open(t, runner(func(ctx context.Context, _ agent.Turn, _ func(agent.Event)) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{}, &agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
	}), nil)
	for _, body := range []string{chatting(""), chatting(`,"stream":true`)} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, wireRequest(body)); err != nil {
			t.Fatal(err)
		}
		if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
			t.Fatal("the connection can't be half closed")
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var e envelope
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil || res.StatusCode != 499 || e.Error.Message == "" {
			t.Errorf("got %d, %+v, %v", res.StatusCode, e, err)
		}
		_ = res.Body.Close()
		_ = conn.Close()
	}
}

// inMemory runs a server on an in-memory network in virtual time, and calls play with a connection to the server.
func inMemory(t *testing.T, r Runner, play func(net.Conn)) {
	stopping(t, r, func(conn net.Conn, _ func()) { play(conn) })
}

// stopping is like inMemory, but play also gets a function that stops the server.
func stopping(t *testing.T, r Runner, play func(conn net.Conn, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.Listen()
		s := New(Options{
			Endpoint: "api", Keys: []Key{{Name: "laptop", Secret: secret}}, MaxRequests: 4, Runner: r, Store: memory.New(), Usage: func([]agent.ModelUsage) []chat.Usage { return nil },
			Grace: time.Second, Log: slog.New(slog.DiscardHandler),
		})
		s.listener = network
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Serve(ctx)
		}()
		conn, err := network.Dial(t.Context(), "tcp", "api:80")
		if err != nil {
			t.Fatal(err)
		}
		play(conn, stop)
		_ = conn.Close()
		stop()
		<-done
	})
}

// wireRequest returns the bytes of a request for a stream.
func wireRequest(body string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", secret, len(body), body)
}

// While a stream is silent, the server sends a comment every 15 seconds, even before the first piece (F58).
func TestSignsOfLife_F58(t *testing.T) {
	t.Parallel()
	inMemory(t, runner(func(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		time.Sleep(40 * time.Second)
		emit(agent.Text{Delta: "One"})
		time.Sleep(20 * time.Second)
		return agent.Result{Stop: agent.StopDone}, nil
	}), func(conn net.Conn) {
		began := time.Now()
		if _, err := io.WriteString(conn, wireRequest(chatting(`,"stream":true`))); err != nil {
			t.Fatal(err)
		}
		var got []string
		for in := bufio.NewReader(conn); ; {
			text, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			at := int(time.Since(began).Seconds())
			switch {
			case strings.HasPrefix(text, ": "):
				got = append(got, fmt.Sprintf("%d comment", at))
			case strings.Contains(text, "One"):
				got = append(got, fmt.Sprintf("%d text", at))
			case strings.Contains(text, "[DONE]"):
				if want := "15 comment, 30 comment, 40 text, 55 comment"; strings.Join(got, ", ") != want {
					t.Errorf("got %v, want %s", got, want)
				}
				return
			}
		}
	})
}

// If a client stops reading the response, the turn waits for a limited time and then ends. If a client does not send
// its whole request, the server closes the connection.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	var ended time.Duration
	var told int
	inMemory(t, runner(func(ctx context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		began := time.Now()
		piece := strings.Repeat("x", 10<<10)
		for ctx.Err() == nil {
			emit(agent.Text{Delta: piece})
			told += len(piece)
		}
		ended = time.Since(began)
		return agent.Result{}, &agent.Error{Reason: agent.StopCancelled, Err: context.Cause(ctx)}
	}), func(conn net.Conn) {
		if _, err := io.WriteString(conn, wireRequest(chatting(`,"stream":true`))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
	})
	if ended == 0 || ended > 2*writeTimeout || told > 16<<20 {
		t.Errorf("ended after %v and %d bytes", ended, told)
	}
	for _, begin := range []string{"POST /v1/chat/completions HTTP/1.1\r\nHost: api\r\n", strings.TrimSuffix(wireRequest(chatting("")), "}")} {
		inMemory(t, runner(recall), func(conn net.Conn) {
			began := time.Now()
			if _, err := io.WriteString(conn, begin); err != nil {
				t.Fatal(err)
			}
			data, _ := io.ReadAll(conn)
			if took := time.Since(began); took > bodyTimeout+time.Second || strings.Contains(string(data), " 200 ") {
				t.Errorf("%q: %s after %v", begin, data, took)
			}
		})
	}
}
