package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Node is a step of a pipeline.
type Node struct {
	Name   string // for logs
	Model  string // name of one of Options.Models; empty: the turn's
	System string // system prompt; empty: the turn's
}

func validatePipeline(nodes []Node, models map[string]bool) error {
	for i, n := range nodes {
		if n.Model != "" && !models[n.Model] {
			return fmt.Errorf("node %d of the pipeline (%s): no model is named %q", i+1, n.Name, n.Model)
		}
	}
	return nil
}

// pipeline runs the nodes one after the other, or the turn as it is where there are none. All but the last
// are one answer each, without streaming and without tools, of which people see nothing: it takes the
// question's place in what the next node is asked. The last one is the turn.
//
// As they call no tools, they have no effects: a turn that goes on after a crash runs them again, and only the
// last node goes on behind the steps that were done.
func (r *run) pipeline(ctx context.Context) (Completion, error) {
	nodes := r.opts.Pipeline
	for i, n := range nodes {
		r.enter(n, i == len(nodes)-1)
		if !r.node {
			break
		}
		c, err := r.ask(ctx)
		if err != nil {
			return c, fmt.Errorf("node %s of the pipeline: %w", cmp.Or(n.Name, fmt.Sprint(i+1)), err)
		}
		r.reply.close()
		text := r.reply.own()
		if !visible(text) || c.Finish == FinishFiltered || r.reply.refusal.Len() > 0 {
			r.reply.text.Reset() // it is no reply: the turn ends with the line for it
			return c, nil
		}
		r.log.LogAttrs(ctx, slog.LevelDebug, "a node of the pipeline has answered", slog.String("node", n.Name))
		r.messages = append(slices.Clone(r.messages[:r.question]), Message{Role: User, Text: text})
	}
	return r.converse(ctx)
}

// enter makes a node the turn's.
func (r *run) enter(n Node, last bool) {
	r.node = !last
	r.system = r.turn.systemPrompt(n.System, r.opts.System)
	r.order = order(r.models, cmp.Or(n.Model, r.turn.Model), time.Now())
	r.use(0)
	r.stream, r.more = last && r.turn.Stream, nil
	emit := func(Event) {}
	if last {
		r.more, emit = r.turn.More, r.emit
	}
	said := r.reply
	r.reply = newReply(r.opts.ThinkTags, emit)
	r.reply.before, r.reply.fence = said.before, said.fence
}
