package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// post answers a request for an answer.
func (s *Server) post(rp *reply, r *http.Request, c *client, a api) *apiError {
	if err := allow(rp, r, http.MethodPost); err != nil {
		return err
	}
	defer s.running.Add(-1)
	if s.running.Add(1) > int64(s.MaxRequests) {
		return &apiError{status: http.StatusTooManyRequests, kind: rateLimit, code: rateLimit, message: "Too many requests at once. Ask again in a moment.", retryAfter: time.Second}
	}
	body, err := readBody(rp, r)
	if err != nil {
		return err
	}
	x := &exchange{
		Server: s, reply: rp, api: a, client: c, began: time.Now(),
		head: head{id: a.newID(), created: time.Now()}, tellTools: strings.EqualFold(r.Header.Get("X-Telex-Events"), "true"),
	}
	if x.query, err = a.decode(body); err == nil {
		err = x.query.check(s.models)
	}
	if err != nil {
		return err
	}
	x.query.typedBy(x.asker())
	name, err := sessionName(r.Header.Get("X-Telex-Session"), x.query, s.SessionsByUser)
	if err != nil {
		return err
	}
	x.session = chat.Conversation{Endpoint: s.Endpoint, Chat: chat.ChatID(c.Name), Thread: chat.ThreadID(name)}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		_, err = x.answer(r.Context())
		return err
	}
	return s.once(r, c, key, body, x)
}

// readBody reads the body of a request. A client that sends it slowly is given up.
func readBody(rp *reply, r *http.Request) ([]byte, *apiError) {
	_ = rp.control.SetReadDeadline(time.Now().Add(bodyTime)) // a reader without deadlines is a test's
	body, err := io.ReadAll(http.MaxBytesReader(rp.w, r.Body, maxBody))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &apiError{
			status: http.StatusRequestEntityTooLarge, kind: invalidRequest, code: "request_too_large",
			message: "The request body is larger than " + byteCount(tooLarge.Limit) + ".",
		}
	}
	if err != nil {
		return nil, badRequest("", "The request body could not be read.")
	}
	_ = rp.control.SetReadDeadline(time.Time{}) // that the client goes away is read from now on
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badRequest("", "The request body is empty: want a JSON object.")
	}
	return body, nil
}

func byteCount(n int64) string { return strconv.FormatInt(n>>20, 10) + " MB" }

// exchange is one request for an answer under way.
type exchange struct {
	*Server
	head
	reply     *reply
	api       api
	client    *client
	began     time.Time
	session   chat.Conversation // without a thread, telex keeps no history
	tellTools bool              // the client wants to hear of telex's own tools

	said     answer
	streamer streamer
	begun    bool // the stream has begun
	retold   bool // what is told next was told before a reset
}

// answer runs the turn and answers the request. The outcome is nil if there is an error.
func (x *exchange) answer(ctx context.Context) (_ *outcome, failed *apiError) {
	defer func() { x.logEnd(failed) }()
	if err := x.admit(ctx, x.client); err != nil {
		return nil, err
	}
	unlock, err := x.sessions.lock(ctx, x.session)
	if err != nil {
		return nil, turnError(ctx, err, x.reply.id)
	}
	defer unlock()
	t, past, invalid := x.turn(ctx)
	if invalid != nil {
		return nil, invalid
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.query.stream {
		x.openStream()
	}
	result, err := x.Runner.Run(ctx, t, func(e agent.Event) { x.event(e, cancel) })
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx)
	}
	usage := x.Usage(result.Spent)
	if err == nil && (result.Stop == agent.StopTooLong || result.Stop == agent.StopNoRoom) {
		_ = x.save(ctx, chat.Exchange{Growth: chat.Growth{Usage: usage}}) // it was logged, and the turn's own error says more
		return nil, errTooLong("messages")
	}
	if err != nil {
		_ = x.save(ctx, chat.Exchange{Growth: chat.Growth{Usage: usage}}) // it was logged, and the turn's own error says more
		failed := turnError(ctx, err, x.reply.id)
		if !failed.clientIsGone {
			x.Log.Warn("a turn failed", slog.String("request", x.reply.id), slog.Any("error", err))
		}
		return nil, failed
	}
	o := &outcome{stop: result.Stop, refusal: result.Refusal, usage: total(usage)}
	if err := x.keep(ctx, t, past, result, *o, usage); err != nil {
		return nil, err
	}
	x.finish(*o)
	return o, nil
}

// openStream prepares the events of the API.
func (x *exchange) openStream() {
	x.streamer = x.api.stream(x.head, x.reply, &x.said)
	x.reply.stream(func(err *apiError) {
		x.begin()
		x.streamer.fail(err)
	})
}

// turn returns the turn of the request, and the history that it goes on with.
func (x *exchange) turn(ctx context.Context) (t agent.Turn, past history, _ *apiError) {
	q := x.query
	x.texts.replace(ctx, q.messages)
	past, err := x.history(ctx)
	if err != nil {
		return t, past, err
	}
	return agent.Turn{
		ID: x.reply.id, Model: q.model, Context: paragraphs(q.rules, past.context, q.context), Summary: past.summary, Messages: slices.Concat(past.messages, past.fresh),
		Stream: q.stream, Live: q.stream, Person: x.asker(), Conversation: x.session.String(), ClientTools: q.tools, Params: q.params,
	}, past, nil
}

// asker names who asks: the key, and the person behind it if the client says so. What one person asked to be remembered, another
// one behind the same key does not read.
func (x *exchange) asker() string {
	person := x.person(x.client).String()
	if x.query.user != "" {
		person += "/" + x.query.user
	}
	return person
}

// event takes an event of the turn.
func (x *exchange) event(e agent.Event, cancel context.CancelCauseFunc) {
	switch e := e.(type) {
	case agent.Tool:
		if x.tellTools && x.streamer != nil {
			x.begin()
			x.reply.event("telex.tool", newToolEvent(e))
			x.reply.flush()
		}
		return
	case agent.Reasoning:
		if !x.ShowReasoning || x.retold {
			return
		}
	case agent.Reset:
		if x.streamer != nil {
			x.reset(e, cancel)
			return
		}
	case agent.Text:
		if x.retold {
			x.retold = false
			if strings.HasPrefix(x.said.join(textItem), e.Delta) {
				return
			}
		}
	}
	x.say(e)
}

// say adds an event to the answer, and writes it to a stream.
func (x *exchange) say(e agent.Event) {
	if text, ok := e.(agent.Text); ok && text.Delta == "" {
		return
	}
	index, isNew := x.said.add(e)
	if x.streamer == nil || index < 0 {
		return
	}
	x.begin()
	x.streamer.event(e, index, isNew)
	x.reply.flush()
}

// reset handles a reset of a stream, which can take nothing back. If the text was thinking whose beginning was not marked, the
// client gets the mark of its end, as the model wrote it: many clients hide what stands before it.
func (x *exchange) reset(e agent.Reset, cancel context.CancelCauseFunc) {
	if !e.Thought {
		cancel(errRestarted)
		return
	}
	x.say(agent.Text{Delta: "\n</think>\n\n"})
	x.retold = true
}

// begin begins the stream.
func (x *exchange) begin() {
	if !x.begun {
		x.begun = true
		x.streamer.begin()
	}
}

// finish sends the end of a stream, or the whole answer.
func (x *exchange) finish(o outcome) {
	if x.streamer == nil {
		x.reply.document(http.StatusOK, x.api.document(x.head, &x.said, o))
		return
	}
	x.begin()
	x.streamer.end(o)
	x.reply.flush()
}

// toolEvent is the state of a call of one of telex's own tools, for clients that ask for it.
type toolEvent struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Display string `json:"display"`
	State   string `json:"state"`
}

func newToolEvent(e agent.Tool) toolEvent {
	states := map[agent.ToolState]string{
		agent.ToolIdentified: "identified", agent.ToolExecuting: "executing", agent.ToolCompleted: "completed",
		agent.ToolFailed: "failed", agent.ToolInterrupted: "interrupted",
	}
	return toolEvent{Type: "telex.tool", ID: e.ID, Name: e.Name, Display: e.Display, State: states[e.State]}
}

// keep stores what the turn used, and what later requests refer to, before its end is told.
func (x *exchange) keep(ctx context.Context, t agent.Turn, past history, result agent.Result, o outcome, usage []chat.Usage) *apiError {
	save := chat.Exchange{Growth: chat.Growth{Usage: usage}}
	if x.session.Thread != "" {
		save.After, save.Growth.History = past.newest, encodeAll(slices.Concat(past.fresh, result.Append))
		save.Growth.Compaction = past.compaction(result.Compaction)
	}
	if x.query.store {
		body, err := json.Marshal(x.api.document(x.head, &x.said, o))
		if err != nil {
			panic(err) // our own types
		}
		save.Response = &chat.Response{ID: x.id, Previous: x.query.previous, Body: body, Messages: x.newLink(t, past, result).encode()}
	}
	if err := x.save(ctx, save); err != nil && (x.session.Thread != "" || x.query.store) {
		return err
	}
	return nil
}

// save stores the turn. It takes its time even if the client is gone: what was used counts.
func (x *exchange) save(ctx context.Context, e chat.Exchange) *apiError {
	const saveTime = 30 * time.Second
	e.Turn, e.Conversation, e.User = x.reply.id, x.session, x.person(x.client).User
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if err := x.Store.SaveExchange(ctx, e); err != nil {
		return x.storeError(ctx, "a turn was not stored", err)
	}
	return nil
}

// storeError logs an error of the store and returns the one that clients get.
func (s *Server) storeError(ctx context.Context, what string, err error) *apiError {
	if ctx.Err() == nil {
		s.Log.Error(what, slog.Any("error", err)) //nolint:sloglint // one of a few texts
	}
	return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "store_failed", message: "The server could not read or write its store."}
}

// total adds up what a turn used.
func total(usage []chat.Usage) (sum agent.Usage) {
	for _, u := range usage {
		sum = sum.Add(agent.Usage{Prompt: u.Prompt, Cached: u.Cached, Completion: u.Completion, Reasoning: u.Reasoning})
	}
	return sum
}

// logEnd logs how the request ended.
func (x *exchange) logEnd(err *apiError) {
	status := http.StatusOK
	if err != nil {
		status = err.status
	}
	x.Log.Info("request ended", slog.String("request", x.reply.id), slog.String("key", x.client.Name), slog.String("model", x.query.model),
		slog.Bool("stream", x.query.stream), slog.Int("status", status), slog.Duration("took", time.Since(x.began)))
}
