package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

var (
	errEOF    = errors.New("stream ended early")
	errFailed = errors.New("stream failed")
)

// over ends an answer early. The code that writes an answer panics with an over, and exchange.write recovers the panic.
// The code that writes an answer therefore needs no error handling.
type over struct{ why error }

// must ends the answer early if err is not nil.
func must(err error) {
	if err != nil {
		panic(&over{err})
	}
}

// encoder writes an answer in the form of one of the two APIs.
type encoder interface {
	// begin sends the part of the answer before the first token, and waits until the first token is due.
	begin()
	// unit sends one unit of the model's output. If unfinished is set, the method unit leaves out the end of the event.
	unit(u unit, unfinished bool)
	// noise sends data without meaning. n selects the kind of data.
	noise(n int)
	// finish sends the part of the answer after the last token.
	finish()
	// fail sends an error in the middle of a stream.
	fail(code, text string)
	// whole returns the whole answer as one JSON value.
	whole() any
}

// stream sends the answer as server-sent events.
func (x *exchange) stream() {
	h := x.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.begin(http.StatusOK, "text/event-stream; charset=utf-8")
	x.wire.raw(nil)
	x.out.begin()
	x.sendUnits()
	x.endAt(afterText)
	x.out.finish()
}

// sendUnits sends each token when it is due. Between tokens, sendUnits sends the comments and meaningless data that the
// settings request.
func (x *exchange) sendUnits() {
	start, sent, noise := time.Now(), 0, 0
	for left := x.p.units; len(left) > 0; {
		x.endAt(sent)
		if x.b.stallFor > 0 && sent == x.b.stall {
			x.pause(x.b.stallFor)
			start = start.Add(x.b.stallFor)
		}
		n := x.group(left, sent)
		u := merge(left[:n])
		left = left[n:]
		x.pause(time.Until(x.due(start, sent)))
		x.out.unit(u, x.ends(sent+u.tokens, afterText))
		before := sent
		sent += u.tokens
		x.mark(u)
		if every(x.b.commentEvery, before, sent) {
			x.wire.comment(x.b.comment)
		}
		if every(x.b.noise, before, sent) {
			x.out.noise(noise)
			noise++
		}
	}
	x.endAt(sent)
}

// every reports whether a multiple of n is greater than before and at most after.
func every(n, before, after int) bool { return n > 0 && before/n != after/n }

// group returns the number of units at the start of the list left that form one delta. A delta ends after the number of
// units that the setting chunk names, before a unit of another kind, and at a token at which the answer ends or pauses.
func (x *exchange) group(left []unit, sent int) int {
	n := 1
	for ; n < x.b.chunk && n < len(left) && left[n].kind == left[0].kind && left[0].kind != "call"; n++ {
		if at := sent + n; at == x.b.end.after && x.b.end.how != "" || at == x.b.stall && x.b.stallFor > 0 {
			break
		}
	}
	return n
}

// merge joins several units of the same kind to one.
func merge(units []unit) unit {
	if len(units) == 1 {
		return units[0]
	}
	whole := plan{units: units}
	return unit{kind: units[0].kind, text: whole.joined(units[0].kind), tokens: whole.tokens()}
}

// due returns the time at which the server must send the token after the first n tokens.
func (x *exchange) due(start time.Time, n int) time.Time {
	if x.b.rate <= 0 {
		return start
	}
	at := float64(n)
	if x.b.jitter > 0 && n > 0 {
		at += x.b.jitter * (2*x.dice.Float64() - 1)
	}
	return start.Add(time.Duration(at / x.b.rate * float64(time.Second)))
}

// pause waits for d. During this time, pause sends SSE comments if the settings request them. If the client
// disconnects, pause ends the answer.
func (x *exchange) pause(d time.Duration) {
	for until := time.Now().Add(d); ; {
		x.alive()
		left := time.Until(until)
		if left <= 0 {
			return
		}
		comment := x.begun && x.b.commentInterval > 0 && x.b.commentInterval < left
		if comment {
			left = x.b.commentInterval
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-x.ctx.Done():
			timer.Stop()
		}
		x.alive()
		switch {
		case !comment:
		case x.rec.isPlain(x.b): // in JSON, an empty line takes the place of a comment
			x.wire.raw([]byte("\n"))
		default:
			x.wire.comment(x.b.comment)
		}
	}
}

// alive ends the answer if the client has disconnected or the server is closed.
func (x *exchange) alive() {
	if err := x.ctx.Err(); err != nil {
		panic(&over{fmt.Errorf("answer: %w", err)})
	}
}

// ends reports whether the settings end the stream right after a chunk and leave out the line end of the chunk. next is
// the named place that follows the chunk.
func (x *exchange) ends(sent, next int) bool {
	if x.b.end.how != "eof" || !x.b.noLastNewline {
		return false
	}
	return x.b.end.after == sent || next == afterText && sent >= x.p.tokens() && x.b.end.after <= afterText
}

// endAt ends the answer early if the settings name the given place, which is a number of tokens or a named place.
func (x *exchange) endAt(at int) {
	// If the settings name more tokens than the answer has, the answer ends after its text.
	reached := x.b.end.after == at || at == afterText && x.b.end.after < afterText
	if x.b.end.how != "" && reached {
		x.breakOff()
	}
}

// breakOff ends the answer in the way that the settings name, such as cut.
func (x *exchange) breakOff() {
	switch x.b.end.how {
	case "cut":
		must(errCut)
	case "eof":
		must(errEOF)
	case "hang": // send only comments until the client disconnects
		for {
			x.pause(1000 * time.Hour)
		}
	}
	x.out.fail(cmp.Or(x.b.code, "server_error"), cmp.Or(x.b.message, "The server had an error while processing your request. Sorry about that!"))
	must(errFailed)
}

// completions writes an answer in the form of Chat Completions.
type completions struct{ *exchange }

func (x completions) begin() {
	x.pause(x.b.first)
	x.send(x.delta(map[string]any{"role": "assistant", "content": "", "refusal": nil}), x.ends(0, afterText))
}

func (x completions) unit(u unit, unfinished bool) { x.send(x.delta(x.fields(u)), unfinished) }

func (x completions) finish() {
	finish := x.delta(map[string]any{})
	if x.p.finish != "null" {
		finish.Choices[0].FinishReason = &x.p.finish
	}
	x.send(finish, x.ends(afterFinish, afterFinish) || !x.wantsUsage() && x.ends(afterUsage, afterUsage))
	x.endAt(afterFinish)
	if x.wantsUsage() {
		c := x.chunk()
		c.Choices, c.Usage = []choice{}, mustJSON(x.p.usage)
		x.send(c, x.ends(afterUsage, afterUsage))
	}
	x.endAt(afterUsage)
	x.wire.event("", []byte("[DONE]"), x.b.noLastNewline)
}

func (x completions) fail(code, text string) {
	event, data := "", newError(http.StatusInternalServerError, "server_error", "", code, text).body()
	switch x.b.failAs {
	case "event":
		event = "error"
	case "vllm":
		data = mustJSON(map[string]any{
			"object": "error", "message": text, "type": "InternalServerError", "param": nil, "code": http.StatusInternalServerError,
		})
	case "openrouter":
		c := x.delta(map[string]any{"content": ""})
		c.Error = map[string]any{"code": http.StatusBadGateway, "message": text}
		c.Choices[0].FinishReason = new("error")
		data = mustJSON(c)
	}
	x.wire.event(event, data, x.b.noLastNewline)
}

func (x completions) noise(n int) {
	c := x.chunk()
	c.Choices = []choice{}
	switch n % 3 {
	case 1:
		c.Choices = []choice{{Delta: nil}}
	case 2:
		c.Usage = mustJSON(x.soFar())
	}
	x.send(c, false)
}

// chunk returns a chunk without choices.
func (x completions) chunk() chunk {
	c := chunk{
		ID: fmt.Sprintf("chatcmpl-%016x", x.serial), Object: "chat.completion.chunk", Created: x.rec.Time.Unix(),
		Model: x.req.Model, ServiceTier: "default", SystemFingerprint: "fp_standin",
	}
	switch {
	case x.b.usage == "each":
		c.Usage = mustJSON(x.soFar())
	case x.wantsUsage():
		c.Usage = json.RawMessage("null")
	}
	return c
}

// delta returns a chunk with one delta. If fields is nil, the delta is null.
func (x completions) delta(fields map[string]any) chunk {
	c := x.chunk()
	c.Choices = []choice{{Delta: fields}}
	return c
}

// soFar returns the usage up to now, which some providers send with every chunk.
func (x completions) soFar() usage {
	u := x.p.usage
	x.note(func(rec *Request) { u.CompletionTokens = rec.Tokens })
	u.CompletionTokensDetails.ReasoningTokens = min(u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokens)
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// fields returns the fields of the delta that sends a unit.
func (x completions) fields(u unit) map[string]any {
	switch u.kind {
	case "call":
		return map[string]any{"tool_calls": []any{u.call}}
	case "reasoning":
		return reasoningFields(u.text, x.b.thinkAs)
	default:
		return map[string]any{u.kind: u.text}
	}
}

// reasoningFields returns a piece of reasoning in the fields that a kind of provider uses.
func reasoningFields(text, as string) map[string]any {
	switch as {
	case "reasoning": // vLLM, OpenRouter, Ollama
		return map[string]any{"reasoning": text}
	case "both":
		return map[string]any{"reasoning": text, "reasoning_content": text}
	default: // DeepSeek
		return map[string]any{"reasoning_content": text}
	}
}

// send writes a chunk. Like OpenAI, send adds padding that hides the length of the chunk's text.
func (x completions) send(c chunk, unfinished bool) {
	x.alive()
	if o := x.req.StreamOptions; o == nil || o.IncludeObfuscation == nil || *o.IncludeObfuscation {
		c.Obfuscation = padding(8 + x.dice.IntN(8) + x.b.pad)
	}
	x.wire.event("", mustJSON(c), unfinished)
}

// wantsUsage reports whether the server must send a chunk with the usage at the end of the stream.
func (x completions) wantsUsage() bool {
	switch x.b.usage {
	case "off":
		return false
	case "on", "each":
		return true
	default:
		return x.req.StreamOptions != nil && x.req.StreamOptions.IncludeUsage
	}
}

// mark records that the server has written a unit of the answer.
func (x *exchange) mark(u unit) {
	now := time.Now()
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	rec := x.rec
	if rec.Tokens == 0 {
		rec.FirstToken = now
	}
	rec.LastToken = now
	rec.Tokens += u.tokens
	if u.kind == "content" {
		rec.Marks = append(rec.Marks, Mark{Time: now, Bytes: rec.sentBytes() + len(u.text)})
	}
	if x.epoch == x.s.epoch {
		x.s.stats.Tokens += u.tokens
	}
	x.s.notify()
}
