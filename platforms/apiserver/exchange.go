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

// post handles a POST request in which a client asks a model for an answer.
func (s *Server) post(rp *reply, r *http.Request, c *client, a api) *apiError {
	if err := checkMethod(rp, r, http.MethodPost); err != nil {
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
		answerHead: answerHead{id: a.newID(), created: time.Now()}, showTools: strings.EqualFold(r.Header.Get("X-Telex-Events"), "true"),
	}
	if x.query, err = a.decode(body); err == nil {
		err = x.query.check(s.models)
	}
	if err != nil {
		return err
	}
	x.query.setTypedBy(x.asker())
	name, err := sessionName(r.Header.Get("X-Telex-Session"), x.query, s.SessionsByUser)
	if err != nil {
		return err
	}
	x.session = chat.Conversation{Endpoint: s.Endpoint, Chat: chat.ChatID(c.Name), Thread: chat.ThreadID(name)}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		_, err = x.run(r.Context())
		return err
	}
	return s.runOnce(r, c, key, body, x)
}

// readBody reads the body of a request. readBody returns an error if the client takes longer than bodyTimeout to send
// the body.
func readBody(rp *reply, r *http.Request) ([]byte, *apiError) {
	_ = rp.control.SetReadDeadline(time.Now().Add(bodyTimeout)) // the writers of some tests support no deadlines and return an error
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
	_ = rp.control.SetReadDeadline(time.Time{}) // a later read by net/http, which notices a disconnect, must not time out
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badRequest("", "The request body is empty: want a JSON object.")
	}
	return body, nil
}

func byteCount(n int64) string { return strconv.FormatInt(n>>20, 10) + " MB" }

// exchange is the state of one request in which a client asks a model for an answer.
type exchange struct {
	*Server
	answerHead
	reply     *reply
	api       api
	client    *client
	began     time.Time
	session   chat.Conversation // if the conversation has no thread, telex stores no history
	showTools bool              // the client wants events about telex's own tools

	answer        answer
	streamer      streamer
	streamStarted bool // the first event of the stream was sent
	repeating     bool // the model repeats text that was already sent before a reset
}

// run runs the turn and sends the answer to the client. If the method run returns an error, the returned outcome is
// nil.
func (x *exchange) run(ctx context.Context) (_ *outcome, failed *apiError) {
	defer func() { x.logEnd(failed) }()
	if err := x.countTurn(ctx, x.client); err != nil {
		return nil, err
	}
	unlock, err := x.sessions.lock(ctx, x.session)
	if err != nil {
		return nil, turnError(ctx, err, x.reply.id)
	}
	defer unlock()
	t, past, invalid := x.newTurn(ctx)
	if invalid != nil {
		return nil, invalid
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if x.query.stream {
		x.openStream()
	}
	result, err := x.Runner.Run(ctx, t, func(e agent.Event) { x.handleEvent(e, cancel) })
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx)
	}
	usage := x.Usage(result.UsageByModel)
	if err == nil && (result.Stop == agent.StopTooLong || result.Stop == agent.StopNoRoom) {
		_ = x.save(ctx, chat.Exchange{Growth: chat.Growth{Usage: usage}}) // save logs its error, and the client gets the turn's error
		return nil, errTooLong("messages")
	}
	if err != nil {
		_ = x.save(ctx, chat.Exchange{Growth: chat.Growth{Usage: usage}}) // save logs its error, and the client gets the turn's error
		failed := turnError(ctx, err, x.reply.id)
		if !failed.clientGone {
			x.Log.Warn("a turn failed", slog.String("request", x.reply.id), slog.Any("error", err))
		}
		return nil, failed
	}
	o := &outcome{stop: result.Stop, refusal: result.Refusal, usage: total(usage)}
	if err := x.store(ctx, t, past, result, *o, usage); err != nil {
		return nil, err
	}
	x.send(*o)
	return o, nil
}

// openStream prepares the reply for a stream of events in the format of the API.
func (x *exchange) openStream() {
	x.streamer = x.api.stream(x.answerHead, x.reply, &x.answer)
	x.reply.stream(func(err *apiError) {
		x.startStream()
		x.streamer.fail(err)
	})
}

// newTurn returns the turn for the request, and the history that the turn continues.
func (x *exchange) newTurn(ctx context.Context) (t agent.Turn, past history, _ *apiError) {
	q := x.query
	x.texts.replace(ctx, q.messages)
	past, err := x.history(ctx)
	if err != nil {
		return t, past, err
	}
	return agent.Turn{
		ID: x.reply.id, Model: q.model, Context: paragraphs(q.instructions, past.context, q.context), Summary: past.summary, Messages: slices.Concat(past.messages, past.added),
		Stream: q.stream, Live: q.stream, Person: x.asker(), Conversation: x.session.String(), ClientTools: q.tools, Params: q.params,
	}, past, nil
}

// asker returns the name of the person for whom the model answers. The name of the asker consists of the client's name
// and the request's field user. telex stores under this name what it remembers about the person, so users of the same
// key can't see each other's memories.
func (x *exchange) asker() string {
	person := x.personOf(x.client).String()
	if x.query.user != "" {
		person += "/" + x.query.user
	}
	return person
}

// handleEvent handles one event of the turn, and writes the event to the client if necessary.
func (x *exchange) handleEvent(e agent.Event, cancel context.CancelCauseFunc) {
	switch e := e.(type) {
	case agent.Tool:
		if x.showTools && x.streamer != nil {
			x.startStream()
			x.reply.event("telex.tool", newToolEvent(e))
			x.reply.flush()
		}
		return
	case agent.Reasoning:
		if !x.ShowReasoning || x.repeating {
			return
		}
	case agent.Reset:
		if x.streamer != nil {
			x.handleReset(e, cancel)
			return
		}
	case agent.Text:
		if x.repeating {
			x.repeating = false
			if strings.HasPrefix(x.answer.textOf(textItem), e.Delta) {
				return
			}
		}
	}
	x.emit(e)
}

// emit adds an event to the answer, and writes the event to the stream if the client requested a stream.
func (x *exchange) emit(e agent.Event) {
	if text, ok := e.(agent.Text); ok && text.Delta == "" {
		return
	}
	index, isNew := x.answer.add(e)
	if x.streamer == nil || index < 0 {
		return
	}
	x.startStream()
	x.streamer.event(e, index, isNew)
	x.reply.flush()
}

// handleReset handles a reset in a stream. After a reset, the text that the model has written so far no longer belongs
// to the answer. The server can't remove text that it has sent, so handleReset ends the turn with an error. If the text
// before the reset was reasoning without a start tag, handleReset instead sends the end tag, because many clients hide
// all text before this tag.
func (x *exchange) handleReset(e agent.Reset, cancel context.CancelCauseFunc) {
	if !e.Thought {
		cancel(errRestarted)
		return
	}
	x.emit(agent.Text{Delta: "\n</think>\n\n"})
	x.repeating = true
}

// startStream starts the stream. If the stream has already started, startStream does nothing.
func (x *exchange) startStream() {
	if !x.streamStarted {
		x.streamStarted = true
		x.streamer.begin()
	}
}

// send completes the reply: send writes the end of the stream, or the whole answer if the client did not request a
// stream.
func (x *exchange) send(o outcome) {
	if x.streamer == nil {
		x.reply.document(http.StatusOK, x.api.document(x.answerHead, &x.answer, o))
		return
	}
	x.startStream()
	x.streamer.end(o)
	x.reply.flush()
}

// toolEvent reports the state of a call of one of telex's own tools. The server sends a toolEvent only to clients that
// request such events with the header X-Telex-Events.
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

// store stores the turn's usage, and the history or response to which later requests may refer. The method run sends
// the end of the answer only after store has returned, so that a following request finds the stored data.
func (x *exchange) store(ctx context.Context, t agent.Turn, past history, result agent.Result, o outcome, usage []chat.Usage) *apiError {
	save := chat.Exchange{Growth: chat.Growth{Usage: usage}}
	if x.session.Thread != "" {
		save.After, save.Growth.History = past.newest, encodeAll(slices.Concat(past.added, result.Append))
		save.Growth.Compaction = past.compaction(result.Compaction)
	}
	if x.query.store {
		body, err := json.Marshal(x.api.document(x.answerHead, &x.answer, o))
		if err != nil {
			panic(err) // encoding these types can't fail
		}
		save.Response = &chat.Response{ID: x.id, Previous: x.query.previous, Body: body, Messages: x.newStoredTurn(t, past, result).encode()}
	}
	if err := x.save(ctx, save); err != nil && (x.session.Thread != "" || x.query.store) {
		return err
	}
	return nil
}

// save stores the data of a finished turn. If the client disconnects while save runs, save continues, because the
// turn's usage must be counted.
func (x *exchange) save(ctx context.Context, e chat.Exchange) *apiError {
	const saveTime = 30 * time.Second
	e.Turn, e.Conversation, e.User = x.reply.id, x.session, x.personOf(x.client).User
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if err := x.Store.SaveExchange(ctx, e); err != nil {
		return x.storeError(ctx, "a turn was not stored", err)
	}
	return nil
}

// storeError logs an error of the store, and returns the error that the client gets.
func (s *Server) storeError(ctx context.Context, what string, err error) *apiError {
	if ctx.Err() == nil {
		s.Log.Error(what, slog.Any("error", err)) //nolint:sloglint // the variable what holds one of a few constant texts
	}
	return &apiError{status: http.StatusInternalServerError, kind: serverError, code: "store_failed", message: "The server could not read or write its store."}
}

// total returns the sum of the tokens that a turn used.
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
