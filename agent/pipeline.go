package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Node is one of the models that Options.Pipeline runs one after the other.
type Node struct {
	Name   string // name of the node in logs
	Model  string // name of one of Options.Models; empty: the turn's model
	System string // system prompt of the node; empty: the turn's system prompt
}

func validatePipeline(nodes []Node, models map[string]bool) error {
	for i, n := range nodes {
		if n.Model != "" && !models[n.Model] {
			return fmt.Errorf("node %d of the pipeline (%s): no model is named %q", i+1, n.Name, n.Model)
		}
	}
	return nil
}

// pipeline runs the nodes one after the other. If there are no nodes, pipeline runs only the turn's model. Each node before the
// last one gives one answer, without streaming and without tools. People don't see the answer of such a node; it replaces the
// question for the next node. The last node runs like a turn without a pipeline.
//
// After a crash, the nodes before the last one run again, which is safe because they call no tools. Only the last node
// continues after the steps that the journal contains.
func (r *run) pipeline(ctx context.Context) (Completion, error) {
	nodes := r.opts.Pipeline
	for i, n := range nodes {
		r.enter(n, i == len(nodes)-1)
		if !r.innerNode {
			break
		}
		c, err := r.ask(ctx)
		if err != nil {
			return c, fmt.Errorf("node %s of the pipeline: %w", cmp.Or(n.Name, fmt.Sprint(i+1)), err)
		}
		r.reply.close()
		text := r.reply.answerText()
		if !visible(text) || c.Finish == FinishFiltered || r.reply.refusal.Len() > 0 {
			r.reply.text.Reset() // the text is not shown, because the turn ends with a fixed line
			return c, nil
		}
		r.log.LogAttrs(ctx, slog.LevelDebug, "a node of the pipeline has answered", slog.String("node", n.Name))
		r.messages = append(slices.Clone(r.messages[:r.questionIndex]), Message{Role: User, Text: text})
	}
	return r.converse(ctx)
}

// enter prepares the turn for the answer of a node. last says that this is the last node, whose answer people see.
func (r *run) enter(n Node, last bool) {
	r.innerNode = !last
	r.system = r.turn.systemPrompt(n.System, r.opts.System)
	r.order = order(r.models, cmp.Or(n.Model, r.turn.Model), time.Now())
	r.switchModel(0)
	r.stream, r.more = last && r.turn.Stream, nil
	emit := func(Event) {}
	if last {
		r.more, emit = r.turn.More, r.emit
	}
	earlier := r.reply
	r.reply = newReply(r.opts.ThinkTags, emit)
	r.reply.earlierText, r.reply.fenceEnd = earlier.earlierText, earlier.fenceEnd
}
