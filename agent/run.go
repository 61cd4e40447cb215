package agent

import (
	"cmp"
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

	// What is asked.
	system   string
	messages []Message // the turn's, and what it grew by
	question int       // index of the first message that no summary may stand for
	more     func(context.Context) []Message
	summary  string    // of the first done messages and of what came before them
	done     int       // at most question
	grown    []Message // what the history grows by, without the answer that is being made
	place    int       // of that one in grown
	kept     int       // of grown: the journal has it

	// Who is asked.
	models   []*chained
	node     bool // of a pipeline, and not the last
	order    []*chained
	at       int             // of model in order
	model    *chained        // the turn's now
	answered *chained        // whose text is in reply
	leftOut  map[string]bool // of the requests, since the provider refused it
	refusals int             // for length, which nothing but a smaller request mends
	refused  int             // size of the last of these
	overflow error           // what the provider said of it

	// What comes of it.
	reply    *reply
	statuses statuses
	tools    []ToolDef  // of the newest request
	limited  StopReason // why the newest request had no tools; empty: for no limit
	ids      callIDs
	files    map[string][]File // by the ids of calls
	left     allowance         // of files
	// imageBytes is how much the images are that tools returned.
	imageBytes int
	open       []ToolCall // of an earlier process, without an answer

	meters    []*meter
	meter     *meter // of model
	context   int    // tokens of the last request for an answer
	calls     int    // attempts that reached a model
	reserved  int    // of the limit on these, for the answer behind a summary
	unsaved   bool   // the journal lacks some of what was used
	toolCalls int
	warned    bool // that usage is missing
}

func newRun(a *Agent, t Turn, clock *clock, emit func(Event)) *run {
	r := &run{
		opts:     a.opts,
		turn:     t,
		clock:    clock,
		emit:     emit,
		stream:   t.Stream,
		system:   cmp.Or(t.System, a.opts.System),
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
		if err != nil || !r.hasCallsToRun(c) {
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
