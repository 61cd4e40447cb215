package agent

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// run is one turn under way.
type run struct {
	opts   Options
	turn   Turn
	log    *slog.Logger
	clock  *clock
	emit   func(Event)
	stream bool

	// What the model is asked.
	system   string
	messages []Message // the turn's messages, and what the turn added to them
	question int       // index of the first message that a summary may not replace
	more     func(context.Context) []Message
	summary  string    // replaces the first done messages, and what came before them
	done     int       // at most question
	grown    []Message // what the turn adds to the history, without the answer that is being written
	place    int       // index in grown where that answer belongs
	kept     int       // how many of grown the journal has

	// Which model is asked.
	models   []*chained
	node     bool // this is a node of a pipeline, and not the last one
	order    []*chained
	at       int             // index of model in order
	model    *chained        // the turn's model now
	answered *chained        // the model whose text is in reply
	leftOut  map[string]bool // parts of requests that the provider refused
	refusals int             // how many requests were refused for their length, which only a smaller request mends
	refused  int             // size of the last one of these
	overflow error           // the provider's error for it

	// What the turn has produced.
	reply    *reply
	statuses statuses
	tools    []ToolDef  // offered with the newest request
	limited  StopReason // the limit for which the newest request offered no tools; empty: none
	ids      callIDs
	client   clientCalls
	files    map[string][]File // for people, by the ids of calls
	left     allowance         // for more files
	// imageBytes is the size of all images that tools have returned.
	imageBytes int
	open       []ToolCall // calls of an earlier process that have no answer yet

	meters    []*meter
	meter     *meter // the one of model
	context   int    // tokens of the last request for an answer
	calls     int    // attempts that reached a model
	reserved  int    // calls that a summary must leave for the answer behind it
	unsaved   bool   // the journal lacks some of the usage
	toolCalls int
	warned    bool // the log says already that usage is missing
}

func newRun(a *Agent, t Turn, clock *clock, emit func(Event)) *run {
	r := &run{
		opts:     a.opts,
		turn:     t,
		clock:    clock,
		emit:     emit,
		stream:   t.Stream,
		system:   t.systemPrompt("", a.opts.System),
		messages: slices.Clip(t.Messages), // the caller's: never written to
		question: max(0, len(t.Messages)-1),
		more:     t.More,
		summary:  t.Summary,
		models:   a.models,
		order:    order(a.models, t.Model, time.Now()),
		files:    make(map[string][]File),
		left:     allowance{files: MaxFiles, bytes: MaxFileBytes},
	}
	for _, s := range t.Spent {
		r.meters = append(r.meters, s.earlier())
		r.calls += s.Calls
	}
	r.use(0)
	r.answered = r.model
	r.statuses.emit = emit
	r.reply = newReply(a.opts.ThinkTags, emit)
	r.restoreSteps()
	return r
}

// converse is the turn: the model answers, its calls are run, it answers again, until an answer has no
// calls.
func (r *run) converse(ctx context.Context) (Completion, error) {
	if err := r.awaitDecisions(ctx); err != nil {
		return Completion{}, err
	}
	r.awaitToolbox(ctx)
	r.messages = append(r.messages, r.grown...) // an earlier process's steps
	if err := r.finishCalls(ctx); err != nil {
		return Completion{}, err
	}
	for {
		c, err := r.ask(ctx)
		if err != nil || !r.hasCallsToRun(c) || r.handBack(c) {
			return c, err
		}
		if err := r.step(ctx, c); err != nil {
			return Completion{}, err
		}
	}
}

// hasCallsToRun reports whether an answer has calls to run: not one that was filtered or refused, nor one of a model
// that calls what it was not offered.
func (r *run) hasCallsToRun(c Completion) bool {
	return len(c.ToolCalls) > 0 && len(r.tools) > 0 && c.Finish != FinishFiltered && r.reply.refusal.Len() == 0
}
