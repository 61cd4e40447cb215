package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"pgregory.net/rapid"

	"telex/agent"
)

// This file contains the model and the tools of schedules in which the real agent runs. The model sends the text of the
// schedule and calls tools in between. The tools record their effects.

// plannedCall is a tool call that the schedule contains.
type plannedCall struct {
	tool  string
	takes time.Duration
	fails bool // the call fails after it took effect
}

// The names of the tools: the tool look only reads, and the tools change and alter change something.
const (
	look   = "look"
	change = "change"
	alter  = "alter"
)

// drawCalls returns random tool calls, which the model makes at the end of a stage of an answer.
func drawCalls(t *rapid.T) (calls []plannedCall) {
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		calls = append(calls, plannedCall{
			tool:  rapid.SampledFrom([]string{look, change, change, alter}).Draw(t, "tool"),
			takes: rapid.OneOf(span2(0, 500), span2(0, 8000)).Draw(t, "takes"),
			fails: rapid.IntRange(0, 7).Draw(t, "fails") == 0,
		})
	}
	return calls
}

// The method stages splits the deltas of an answer into lists, which are called stages. At the end of each stage except
// the last, the model makes tool calls.
func (a answer) stages() (list [][]delta) {
	begin := 0
	for i, d := range a.deltas {
		if len(d.calls) > 0 {
			list = append(list, a.deltas[begin:i+1])
			begin = i + 1
		}
	}
	return append(list, a.deltas[begin:])
}

// joined returns the Markdown of all deltas, and the text that people must see for this Markdown, without white space.
func joined(deltas []delta) (written, shown string) {
	for _, d := range deltas {
		written += d.text
		shown += d.shown
	}
	return strings.TrimSpace(written), shown
}

// runKey is the context key under which the model finds its run.
type runKey struct{}

// hand runs turns with the real agent, and records each run for the judge.
type hand struct {
	l     *life
	agent *agent.Agent
}

func newHand(l *life) hand {
	a, err := agent.New(agent.Options{
		Models: []agent.ModelOptions{{Model: speaker{l}}}, Tools: bench{l}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return hand{l, a}
}

// Run implements gateway.Runner.
func (h hand) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	w := h.l.w
	r := w.startRun(h.l, t)
	w.goOn(r, t)
	more := t.More
	t.More = func(ctx context.Context) []agent.Message {
		said := more(ctx)
		w.hear(r, said)
		return said
	}
	res, err := h.agent.Run(context.WithValue(ctx, runKey{}, r), t, emit)
	w.mu.Lock()
	defer w.mu.Unlock()
	r.over, r.err, r.ended = true, err, time.Now()
	if e, failed := errors.AsType[*agent.Error](err); failed && e.Reason == agent.StopCancelled {
		r.err = e.Err
	}
	if r.answer.final, r.answer.shown = res.Text, r.shown; w.s.style == nasty {
		r.answer.shown = ""
	}
	if n := len(t.Messages) - 1; err == nil && r.answer.folds && n > 0 {
		res.Compaction = &agent.Compaction{Summary: w.fold(t), Messages: n}
	}
	return res, err
}

// goOn prepares a run that continues a turn of an earlier process. goOn checks that the agent received all stored steps
// of the turn.
func (w *world) goOn(r *run, t agent.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var said []string
	for _, m := range t.Steps {
		if len(m.ToolCalls) > 0 {
			r.stage++
		}
		if m.Text == "" || m.Role != agent.Assistant {
			continue
		}
		shown, known := w.readAs[m.Text]
		if !known {
			w.complain("turn %s goes on behind %q, which the model never said", t.ID, m.Text)
		}
		r.shown += shown
		said = append(said, m.Text)
	}
	r.said[0] = strings.Join(said, "\n\n")
	if tl := w.turns[t.ID]; tl != nil && !r.life.isOver() && tl.steps != r.stage {
		w.complain("turn %s goes on behind %d steps, %d were stored", t.ID, r.stage, tl.steps)
	}
	if r.stage > 0 {
		w.counts.add("turns that went on behind their calls", 1)
	}
}

// speaker imitates a model for the real agent: it sends the text and the tool calls of the schedule.
type speaker struct{ l *life }

// Name implements agent.Model.
func (speaker) Name() string { return "script" }

// Stream implements agent.Model. After the end of ctx, Stream sends a late piece of text that people must not see.
func (s speaker) Stream(ctx context.Context, q agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	w, r := s.l.w, ctx.Value(runKey{}).(*run)
	said, shown := r.said[0], r.shown
	deltas := w.nextStage(r, q)
	for _, d := range deltas {
		err := s.l.wait(ctx, min(d.after, patience))
		if err == nil && d.after > patience {
			w.judgeFresh(r)
			err = s.l.wait(ctx, d.after-patience)
		}
		if err != nil {
			time.Sleep(r.answer.slow)
			emit(agent.Delta{Text: "late "}) // F37: people must not see this text
			return agent.Completion{}, err
		}
		if d.kind == "reasoning" {
			emit(agent.Delta{Reasoning: "hm"})
		}
		w.tell(r, d.text, false)
		emit(agent.Delta{Text: d.text})
	}
	calls := w.endStage(r, deltas)
	for i, c := range calls {
		emit(agent.Delta{Call: &agent.CallDelta{Position: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}})
	}
	if len(calls) == 0 && r.answer.fails != "" {
		if !r.streams { // without streaming, no text of a failed model call reaches the gateway
			r.said[0], r.shown = said, shown
		}
		return agent.Completion{}, &agent.ModelError{Kind: agent.Auth, Err: context.DeadlineExceeded}
	}
	return agent.Completion{ToolCalls: calls, Usage: &agent.Usage{Completion: 1}}, nil
}

// nextStage begins the next stage of the answer and returns its deltas.
func (w *world) nextStage(r *run, q agent.Request) []delta {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.life.isOver() {
		r.calls++
		w.judgeAnswers(q.Messages, "that the model is shown in turn "+r.turn)
	}
	if r.said[0] != "" {
		r.said[0] += "\n\n"
	}
	stages := r.answer.stages()
	deltas := stages[min(r.stage, len(stages)-1)]
	text, shown := joined(deltas)
	w.readAs[text] = shown
	r.shown += shown
	return deltas
}

// editedBy is added to the stage number in the keys of tool calls for each edit of the question. As a result, a turn
// that restarted because of an edit uses other keys for its tool calls.
const editedBy = 100

// endStage returns the tool calls that the model makes after a stage.
func (w *world) endStage(r *run, said []delta) (calls []agent.ToolCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range said[len(said)-1].calls {
		key := fmt.Sprintf("%ss%dc%d", r.turn, r.stage+editedBy*r.revised, i)
		call := agent.ToolCall{ID: key, Name: c.tool, Arguments: `{"do":"` + key + `"}`}
		if w.s.recount {
			call.ID = fmt.Sprintf("call_%d", i)
		}
		calls = append(calls, call)
		d := w.deeds[key]
		if d == nil {
			d = &deed{key: key, turn: r.turn}
			w.deeds[key] = d
		}
		d.plannedCall = c // the newest run that made the call determines its properties, because an earlier request may be lost
		w.counts.add("tool calls: "+c.tool, 1)
	}
	r.stage++
	return calls
}

// hear records the messages that a run received from the gateway while the turn ran.
func (w *world) hear(r *run, said []agent.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range said {
		r.heard = append(r.heard, m.Text)
		w.counts.add("messages that were put to a running turn", 1)
	}
}

// deed is the judge's record of a tool call.
type deed struct {
	plannedCall

	key, turn string
	effects   []effect
	undone    bool // the model was told that the call was not made
	unknown   bool // the model was told that the outcome is unknown
}

// effect is one execution of a tool call.
type effect struct {
	life    *life
	at      time.Time
	failed  time.Time // when the call ended because the tool returned an error
	stopped bool      // the end of the turn ended the call, while the process lived
}

// deedName matches the key of a tool call.
var deedName = regexp.MustCompile(`[0-9a-f]{16}s\d+c\d+`)

// bench contains the tools of one process.
type bench struct{ l *life }

// Tools implements agent.Toolbox.
func (b bench) Tools() (defs []agent.ToolDef) {
	show := func(arguments string) string { return "Do " + deedName.FindString(arguments) }
	for _, name := range []string{look, change, alter} {
		defs = append(defs, agent.ToolDef{Name: name, ReadOnly: name == look, Show: show, Propose: show, Call: b.call})
	}
	return defs
}

// call executes a tool call. The call takes effect in the middle of its duration.
func (b bench) call(ctx context.Context, in agent.Input) (agent.Output, error) {
	w := b.l.w
	d := w.deed(deedName.FindString(in.Arguments))
	in.Progress("halfway")
	if err := b.l.wait(ctx, d.takes/2); err != nil {
		return agent.Output{}, err
	}
	if err := w.do(b.l, d.key); err != nil {
		return agent.Output{}, err
	}
	if err := b.l.wait(ctx, d.takes-d.takes/2); err != nil {
		w.noteStopped(b.l, d.key)
		return agent.Output{}, err
	}
	if d.fails {
		w.noteFailed(d.key)
		return agent.Output{}, errors.New("no luck")
	}
	return agent.Output{Text: "done " + d.key}, nil
}

// deed returns a copy of the record of a tool call.
func (w *world) deed(key string) deed {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.deeds[key]; d != nil {
		return *d
	}
	w.complain("the call %q is run, which no model made", key)
	return deed{key: key}
}

// do makes a tool call take effect. do fails if the process is dead, or if the schedule kills the process at this
// moment.
func (w *world) do(l *life, key string) error {
	for until := l.ends(cutAll); !until.IsZero(); until = l.ends(cutAll) { // pauses may overlap
		time.Sleep(time.Until(until))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.deeds[key]
	if l.isOver() || d == nil {
		return errDead
	}
	n := w.done
	w.done++
	if k := w.killLocked(n, beforeDeed); k != nil {
		l.dieLocked(k)
		return errDead
	}
	d.effects = append(d.effects, effect{life: l, at: time.Now()})
	w.note("%s takes effect: %s", d.tool, key)
	w.judgeEffect(d)
	if k := w.killLocked(n, afterDeed); k != nil {
		l.dieLocked(k)
		return errDead
	}
	return nil
}

// noteFailed records that a tool call ended with an error of the tool.
func (w *world) noteFailed(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.deeds[key]
	d.effects[len(d.effects)-1].failed = time.Now()
}

// noteCutOff is called when the gateway stores that a read-only call ended because its turn ended. If the call failed
// at the same moment, noteCutOff records the end of the turn as the reason, since the gateway can't tell the
// difference.
func (w *world) noteCutOff(t *turnLog, call string) {
	for _, d := range w.deeds {
		if n := len(d.effects); n > 0 && d.turn == t.id && (d.key == call || w.s.recount) && d.effects[n-1].failed.Equal(time.Now()) {
			d.effects[n-1].stopped = true
		}
	}
}

// noteStopped records that a tool call ended because its turn ended. If the process is dead, noteStopped records
// nothing.
func (w *world) noteStopped(l *life, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.deeds[key]; !l.isOver() {
		d.effects[len(d.effects)-1].stopped = true
	}
}
