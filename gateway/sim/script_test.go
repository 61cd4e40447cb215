package sim

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/agent"
)

// run is the judge's record of one run of the model for a turn.
type run struct {
	turn       string
	life       *life
	answer     answer
	said       []string // the texts that the model has written; a reset begins a new text
	began      time.Time
	ended      time.Time
	over       bool
	err        error // nil: the model completed its answer
	seen       []agent.Message
	told       string   // the summary of earlier messages in the model's request
	heard      []string // the messages that the model received while it ran
	everything string   // all text that the model sent, including discarded text
	calls      int      // number of model calls that were made while the process lived
	stage      int      // index of the stage of the answer that the model writes next; see stages
	revised    int      // how often an edit of the question had restarted the turn
	shown      string   // the text that people must see for all stages, without white space

	streams bool // the answer is streamed
}

// crashes returns the number of runs that were followed by another run, except runs that a graceful stop of the process
// ended.
func crashes(runs []*run) (n int) {
	for i := 1; i < len(runs); i++ {
		if r := runs[i-1]; r.life == runs[i].life || r.life.stopping.IsZero() {
			n++
		}
	}
	return n
}

// script imitates the agent and the model: it sends the answers of the schedule.
type script struct{ l *life }

// askedNumber matches the number of a message, which the text of the message contains.
var askedNumber = regexp.MustCompile(`q(\d+)q`)

// asked returns the numbers of the messages that a text contains.
func asked(text string) (numbers []int) {
	for _, m := range askedNumber.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		numbers = append(numbers, n)
	}
	return numbers
}

// Run implements gateway.Runner.
func (s script) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	w := s.l.w
	r := w.startRun(s.l, t)
	res := agent.Result{Model: "script", Usage: agent.Usage{Completion: 1}, UsageByModel: slices.Clone(t.EarlierUsage)}
	if len(res.UsageByModel) == 0 {
		res.UsageByModel = []agent.ModelUsage{{Model: "script"}}
	}
	res.UsageByModel[0].Usage.Completion++
	res.UsageByModel[0].Calls++
	r.calls++
	s.hear(ctx, r, t)
	err := s.speak(ctx, r, t, emit)
	if err == nil {
		if r.answer.fails != "" {
			err = &agent.Error{Reason: r.answer.fails, Err: context.DeadlineExceeded}
		}
		res.Stop = agent.StopDone
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	res.Text = strings.TrimSpace(r.said[len(r.said)-1])
	switch {
	case err == nil:
		res.Text = r.answer.final
		for _, text := range r.heard {
			res.Append = append(res.Append, agent.Message{Role: agent.User, Text: text})
		}
		res.Append = append(res.Append, agent.Message{Role: agent.Assistant, Text: res.Text})
		if n := len(t.Messages) - 1; r.answer.folds && n > 0 {
			res.Compaction = &agent.Compaction{Summary: w.fold(t), Messages: n}
		}
	case r.answer.fails != "" && ctx.Err() == nil:
		res.Stop, res.Partial = r.answer.fails, true
	default:
		res.Stop, res.Partial = agent.StopCancelled, true
	}
	r.over, r.err, r.ended = true, err, time.Now()
	return res, err
}

// speak sends the answer. If ctx or the process ends before the answer does, speak sends a late piece of text that
// people must not see.
func (s script) speak(ctx context.Context, r *run, t agent.Turn, emit func(agent.Event)) error {
	for _, d := range r.answer.deltas {
		err := s.l.wait(ctx, min(d.after, patience))
		if err == nil && d.after > patience {
			s.l.w.judgeFresh(r)
			err = s.l.wait(ctx, d.after-patience)
		}
		if err != nil {
			time.Sleep(r.answer.slow)
			emit(agent.Text{Delta: "late "}) // F37: people must not see this text
			return err
		}
		switch d.kind {
		case "reset":
			s.l.w.tell(r, "", true)
			if t.Stream {
				emit(agent.Reset{Reason: "again"})
			}
		case "tool": // F07
			emit(agent.Tool{ID: "1", Name: "look", Display: "looking", State: agent.ToolExecuting})
			emit(agent.Tool{ID: "1", State: agent.ToolCompleted})
		case "reasoning":
			emit(agent.Reasoning{Delta: "hm"})
		case "more":
			s.hear(ctx, r, t)
		}
		s.l.w.tell(r, d.text, false)
		if t.Stream {
			emit(agent.Text{Delta: d.text})
		}
	}
	return nil
}

// hear asks the gateway for the messages that people sent while the turn runs, as the agent does before each model
// call.
func (s script) hear(ctx context.Context, r *run, t agent.Turn) {
	more := t.More(ctx)
	w := s.l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range more {
		r.heard = append(r.heard, m.Text)
		w.counts.add("messages that were put to a running turn", 1)
	}
}

// fold returns a summary of all messages before the question. The summary consists of the numbers of these messages.
func (w *world) fold(t agent.Turn) string {
	w.counts.add("summaries", 1)
	var b strings.Builder
	b.WriteString(t.Summary)
	for _, m := range t.Messages[:len(t.Messages)-1] {
		for _, n := range asked(m.Text) {
			fmt.Fprintf(&b, " q%dq", n)
		}
	}
	return b.String()
}

// wait waits for the time d. wait returns an error if ctx or the process ends before that.
func (l *life) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.dead:
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startRun records for the judge that the gateway calls the model, and checks that this is allowed for the turn.
func (w *world) startRun(l *life, t agent.Turn) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &run{turn: t.ID, life: l, said: []string{""}, began: time.Now(), seen: t.Messages, told: t.Summary, streams: t.Stream}
	n := 0
	if numbers := asked(t.Messages[len(t.Messages)-1].Text); len(numbers) > 0 {
		n = numbers[len(numbers)-1]
	}
	switch tl := w.turns[t.ID]; {
	case l.isOver(): // another process may have taken over the turn, and process l does not know it yet
	case tl == nil:
		w.complain("the model is asked for turn %s, which is not stored", t.ID)
	default:
		if tl.void && tl.begun[len(tl.begun)-1].life != l {
			// A turn that began just before its messages were erased may call the model.
			w.complain("F37: the model is asked for turn %s, which was forgotten", t.ID)
		}
		if w.s.fickle {
			n += len(tl.runs)
		}
		tl.runs, r.revised = append(tl.runs, r), tl.revised
		if crashes(tl.runs) >= 3 && !tl.asks { // a turn that waits for a person's approval may run more often
			w.complain("D10: turn %s is run for the %dth time", t.ID, len(tl.runs))
		}
	}
	r.answer = w.s.answers[n%len(w.s.answers)]
	w.counts.add("model asked", 1)
	w.judgeHistory(r)
	return r
}

// tell records text that the model wrote.
func (w *world) tell(r *run, text string, reset bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reset {
		r.said = append(r.said, "")
	}
	r.said[len(r.said)-1] += text
	r.everything += text
}
