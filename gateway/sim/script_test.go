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

// run is one time that the model was asked.
type run struct {
	turn       string
	life       *life
	answer     answer
	said       []string // what was told, by text that started over
	began      time.Time
	ended      time.Time
	over       bool
	err        error // nil: the answer is the result
	seen       []agent.Message
	told       string   // the summary
	heard      []string // what was said to it meanwhile
	everything string   // that was told, whatever became of it
	calls      int      // of the model, while its process lived
	stage      int      // of the answer, that comes next
	revised    int      // how often the question had been edited
	shown      string   // what a person must read of all stages, white space aside

	streams bool // somebody watches
}

// crashes counts the runs that came to no end, but not those that a stop of the process in good order ended.
func crashes(runs []*run) (n int) {
	for i := 1; i < len(runs); i++ {
		if r := runs[i-1]; r.life == runs[i].life || r.life.stopping.IsZero() {
			n++
		}
	}
	return n
}

// script is a model that says what the schedule says.
type script struct{ l *life }

// askedNumber finds what was asked: everybody writes the number of the message.
var askedNumber = regexp.MustCompile(`q(\d+)q`)

// asked returns the numbers of the messages in a text.
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

// speak tells the answer until ctx or the process ends; what is told after that is late.
func (s script) speak(ctx context.Context, r *run, t agent.Turn, emit func(agent.Event)) error {
	for _, d := range r.answer.deltas {
		err := s.l.wait(ctx, min(d.after, patience))
		if err == nil && d.after > patience {
			s.l.w.judgeFresh(r)
			err = s.l.wait(ctx, d.after-patience)
		}
		if err != nil {
			time.Sleep(r.answer.slow)
			emit(agent.Text{Delta: "late "}) // F37: nobody must see this
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

// hear asks for what people said meanwhile, as a model call does.
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

// fold summarizes all but the question: which messages there were.
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

// wait lets time pass, unless ctx or the process ends.
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

// startRun notes that the model is asked.
func (w *world) startRun(l *life, t agent.Turn) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &run{turn: t.ID, life: l, said: []string{""}, began: time.Now(), seen: t.Messages, told: t.Summary, streams: t.Stream}
	n := 0
	if numbers := asked(t.Messages[len(t.Messages)-1].Text); len(numbers) > 0 {
		n = numbers[len(numbers)-1]
	}
	switch tl := w.turns[t.ID]; {
	case l.isOver(): // it does not know yet
	case tl == nil:
		w.complain("the model is asked for turn %s, which is not stored", t.ID)
	default:
		if tl.void && tl.begun[len(tl.begun)-1].life != l { // else it began just before
			w.complain("F37: the model is asked for turn %s, which was forgotten", t.ID)
		}
		if w.s.fickle {
			n += len(tl.runs)
		}
		tl.runs, r.revised = append(tl.runs, r), tl.revised
		if crashes(tl.runs) >= 3 && !tl.asks { // what waits for a person kills nobody
			w.complain("D10: turn %s is run for the %dth time", t.ID, len(tl.runs))
		}
	}
	r.answer = w.s.answers[n%len(w.s.answers)]
	w.counts.add("model asked", 1)
	w.judgeHistory(r)
	return r
}

// tell notes what the model said.
func (w *world) tell(r *run, text string, reset bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reset {
		r.said = append(r.said, "")
	}
	r.said[len(r.said)-1] += text
	r.everything += text
}
