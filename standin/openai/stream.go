package openai

import (
	"context"
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

// stream sends the answer as server-sent events.
func (x *exchange) stream() error {
	h := x.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.begin(http.StatusOK, "text/event-stream; charset=utf-8")
	if err := x.wire.raw(nil); err != nil {
		return err
	}
	if x.resp != nil {
		return x.streamResponse()
	}
	if err := x.pause(time.Now().Add(x.b.first)); err != nil {
		return err
	}
	role := map[string]any{"role": "assistant", "content": "", "refusal": nil}
	if err := x.send(x.delta(role), x.ends(0, afterText)); err != nil {
		return err
	}
	if err := x.sendUnits(); err != nil {
		return err
	}
	if err := x.endAt(afterText); err != nil {
		return err
	}
	finish := x.delta(map[string]any{})
	if x.p.finish != "null" {
		finish.Choices[0].FinishReason = &x.p.finish
	}
	last := x.ends(afterFinish, afterFinish) || !x.wantsUsage() && x.ends(afterUsage, afterUsage)
	if err := x.send(finish, last); err != nil {
		return err
	}
	if err := x.endAt(afterFinish); err != nil {
		return err
	}
	if x.wantsUsage() {
		c := x.chunk()
		c.Choices, c.Usage = []choice{}, mustJSON(x.p.usage)
		if err := x.send(c, x.ends(afterUsage, afterUsage)); err != nil {
			return err
		}
	}
	if err := x.endAt(afterUsage); err != nil {
		return err
	}
	return x.wire.event("", []byte("[DONE]"), x.b.noLastNewline)
}

// sendUnits sends the tokens in their time, and what the settings put between them.
func (x *exchange) sendUnits() error {
	start, sent, noise := time.Now(), 0, 0
	for left := x.p.units; len(left) > 0; {
		if err := x.endAt(sent); err != nil {
			return err
		}
		if x.b.stallFor > 0 && sent == x.b.stall {
			if err := x.pause(time.Now().Add(x.b.stallFor)); err != nil {
				return err
			}
			start = start.Add(x.b.stallFor)
		}
		n := x.group(left, sent)
		u := merge(left[:n])
		left = left[n:]
		if err := x.pause(x.due(start, sent)); err != nil {
			return err
		}
		if err := x.sendUnit(u, x.ends(sent+u.tokens, afterText)); err != nil {
			return err
		}
		before := sent
		sent += u.tokens
		x.mark(u)
		if every(x.b.commentEvery, before, sent) {
			if err := x.wire.comment(x.b.comment); err != nil {
				return err
			}
		}
		if every(x.b.noise, before, sent) {
			if err := x.sendNoise(noise); err != nil {
				return err
			}
			noise++
		}
	}
	return x.endAt(sent)
}

// sendUnit sends what the model produced in one step.
func (x *exchange) sendUnit(u unit, unfinished bool) error {
	if x.resp != nil {
		return x.sendEvents(x.out.add(u), unfinished)
	}
	return x.send(x.delta(x.fields(u)), unfinished)
}

// sendNoise sends what means nothing.
func (x *exchange) sendNoise(n int) error {
	if x.resp != nil {
		return x.sendEvents(x.out.noise(n), false)
	}
	return x.send(x.noise(n), false)
}

// every reports whether a multiple of n lies in (before, after].
func every(n, before, after int) bool { return n > 0 && before/n != after/n }

// group returns how many of the units left go into one delta: as many as the settings say,
// of one kind, and none beyond a place where something happens.
func (x *exchange) group(left []unit, sent int) int {
	n := 1
	for ; n < x.b.chunk && n < len(left) && left[n].kind == left[0].kind && left[0].kind != "call"; n++ {
		if at := sent + n; at == x.b.end.after && x.b.end.how != "" || at == x.b.stall && x.b.stallFor > 0 {
			break
		}
	}
	return n
}

// merge makes one unit of several of the same kind.
func merge(units []unit) unit {
	if len(units) == 1 {
		return units[0]
	}
	whole := plan{units: units}
	return unit{kind: units[0].kind, text: whole.joined(units[0].kind), tokens: whole.tokens()}
}

// due returns when the token after n others is to be sent.
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

// pause waits until a time, with comments when the settings ask for them in a silence. It
// ends early with an error when the client has gone.
func (x *exchange) pause(until time.Time) error {
	for {
		if err := x.ctx.Err(); err != nil {
			return fmt.Errorf("pause: %w", err)
		}
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		comment := x.begun && x.b.commentInterval > 0 && x.b.commentInterval < left
		if comment {
			left = x.b.commentInterval
		}
		if err := sleep(x.ctx, left); err != nil {
			return err
		}
		if comment {
			if err := x.keepAlive(); err != nil {
				return err
			}
		}
	}
}

// keepAlive writes what says nothing: a comment, or in a JSON answer an empty line.
func (x *exchange) keepAlive() error {
	if x.rec.isPlain(x.b) {
		return x.wire.raw([]byte("\n"))
	}
	return x.wire.comment(x.b.comment)
}

// sleep waits, or returns an error as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pause: %w", ctx.Err())
	}
}

// ends reports whether the stream ends by a clean EOF right after a chunk, and that without
// the line end of the chunk. next is the named place that follows when sent is the last token.
func (x *exchange) ends(sent, next int) bool {
	if x.b.end.how != "eof" || !x.b.noLastNewline {
		return false
	}
	return x.b.end.after == sent || next == afterText && sent >= x.p.tokens() && x.b.end.after <= afterText
}

// endAt ends the answer if it is to end at a place: a number of tokens or a named one.
func (x *exchange) endAt(at int) error {
	// An answer shorter than the number ends where its text ends.
	reached := x.b.end.after == at || at == afterText && x.b.end.after < afterText
	if x.b.end.how == "" || !reached {
		return nil
	}
	return x.breakOff()
}

// breakOff ends the answer in the way of the settings.
func (x *exchange) breakOff() error {
	switch x.b.end.how {
	case "cut":
		return errCut
	case "eof":
		return errEOF
	case "hang":
		return x.hang()
	default:
		return x.fail()
	}
}

// hang stays silent, but for comments, until the client goes away.
func (x *exchange) hang() error {
	const long = 1000 * time.Hour
	for {
		if err := x.pause(time.Now().Add(long)); err != nil {
			return err
		}
	}
}

// fail sends an error event and ends the stream without [DONE].
func (x *exchange) fail() error {
	text := x.b.message
	if text == "" {
		text = "The server had an error while processing your request. Sorry about that!"
	}
	code := x.b.code
	if code == "" {
		code = "server_error"
	}
	if x.resp != nil {
		return x.failResponse(code, text)
	}
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
	if err := x.wire.event(event, data, x.b.noLastNewline); err != nil {
		return err
	}
	return errFailed
}

// chunk returns a chunk without choices.
func (x *exchange) chunk() chunk {
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

// delta returns a chunk with one delta; nil stands for a delta that is null.
func (x *exchange) delta(fields map[string]any) chunk {
	c := x.chunk()
	c.Choices = []choice{{Delta: fields}}
	return c
}

// noise returns a chunk that means nothing, of several kinds in turn.
func (x *exchange) noise(n int) chunk {
	c := x.chunk()
	c.Choices = []choice{}
	switch n % 3 {
	case 1:
		c.Choices = []choice{{Delta: nil}}
	case 2:
		c.Usage = mustJSON(x.soFar())
	}
	return c
}

// soFar returns the usage up to now, as some providers send it with every chunk.
func (x *exchange) soFar() usage {
	u := x.p.usage
	x.note(func(rec *Request) { u.CompletionTokens = rec.Tokens })
	u.CompletionTokensDetails.ReasoningTokens = min(u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokens)
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// fields returns the delta of a unit.
func (x *exchange) fields(u unit) map[string]any {
	switch u.kind {
	case "call":
		return map[string]any{"tool_calls": []any{u.call}}
	case "reasoning":
		return reasoningFields(u.text, x.b.thinkAs)
	default:
		return map[string]any{u.kind: u.text}
	}
}

// reasoningFields names reasoning as a provider does.
func reasoningFields(text, as string) map[string]any {
	switch as {
	case "reasoning": // vLLM, OpenRouter, Ollama.
		return map[string]any{"reasoning": text}
	case "both":
		return map[string]any{"reasoning": text, "reasoning_content": text}
	default: // DeepSeek.
		return map[string]any{"reasoning_content": text}
	}
}

// send writes a chunk, padded to hide the length of its text as OpenAI does.
func (x *exchange) send(c chunk, unfinished bool) error {
	if err := x.ctx.Err(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if o := x.req.StreamOptions; o == nil || o.IncludeObfuscation == nil || *o.IncludeObfuscation {
		c.Obfuscation = padding(8 + x.dice.IntN(8) + x.b.pad)
	}
	return x.wire.event("", mustJSON(c), unfinished)
}

// wantsUsage reports whether a usage chunk is sent at the end.
func (x *exchange) wantsUsage() bool {
	switch x.b.usage {
	case "off":
		return false
	case "on", "each":
		return true
	default:
		return x.req.StreamOptions != nil && x.req.StreamOptions.IncludeUsage
	}
}

// mark records a unit that was written.
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
