package agent

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// run is the state of one running turn.
type run struct {
	opts   Options
	turn   Turn
	log    *slog.Logger
	clock  *clock
	emit   func(Event)
	stream bool

	// The following fields describe the next request.
	system          string
	messages        []Message // the turn's messages, then newMessages
	questionIndex   int       // index of the first message that a summary may not replace
	more            func(context.Context) []Message
	summary         string    // replaces the first summarizedCount messages and Turn.Summary
	summarizedCount int       // at most questionIndex
	newMessages     []Message // added to the history by this turn, without the answer that is being written
	answerIndex     int       // index in newMessages at which the answer that is being written will be inserted
	journaledCount  int       // the journal contains the first journaledCount of newMessages

	// The following fields describe the model that is asked.
	models         []*chainModel
	innerNode      bool // the current node of the pipeline is not the last one
	order          []*chainModel
	modelIndex     int             // index of model in order
	model          *chainModel     // the turn's current model
	answeringModel *chainModel     // the model that wrote the current text of reply
	leftOut        map[string]bool // parts of requests that the provider refused
	lengthRefusals int             // how often a refusal because of length has reduced the conversation's tokens
	refusedSize    int             // size of the request whose refusal lengthRefusals counted last
	lengthError    error           // the provider's last error about a request that was too long

	// The following fields are the results of the turn.
	reply        *reply
	statuses     statuses
	tools        []ToolDef  // the tools that the newest request offers
	limitReached StopReason // why the newest request offered no tools; empty: no limit was reached
	ids          callIDs
	client       clientCalls
	files        map[string][]File // files for people, by the ids of calls
	allowance    allowance         // how many more files and bytes people may get
	imageBytes   int               // total size of the images that tools have returned
	openCalls    []ToolCall        // calls of an earlier process that have no result yet

	meters        []*meter
	meter         *meter // the meter of the current model
	contextTokens int    // tokens of the last request for an answer
	modelCalls    int    // attempts that reached a model
	reservedCalls int    // model calls that summaries must leave for the answer
	usageUnsaved  bool   // the journal lacks some of the usage
	toolCalls     int
	usageWarned   bool // the log already says that usage is missing
}

func newRun(a *Agent, t Turn, clock *clock, emit func(Event)) *run {
	r := &run{
		opts:          a.opts,
		turn:          t,
		clock:         clock,
		emit:          emit,
		stream:        t.Stream,
		system:        t.systemPrompt("", a.opts.System),
		messages:      slices.Clip(t.Messages), // without spare capacity, so that append does not write into the caller's array
		questionIndex: max(0, len(t.Messages)-1),
		more:          t.More,
		summary:       t.Summary,
		models:        a.models,
		order:         order(a.models, t.Model, time.Now()),
		files:         make(map[string][]File),
		allowance:     allowance{files: MaxFiles, bytes: MaxFileBytes},
	}
	for _, s := range t.EarlierUsage {
		r.meters = append(r.meters, s.meter())
		r.modelCalls += s.Calls
	}
	r.switchModel(0)
	r.answeringModel = r.model
	r.statuses.emit = emit
	r.reply = newReply(a.opts.ThinkTags, emit)
	r.restoreSteps()
	return r
}

// converse asks the model and runs its calls, until an answer has no calls.
func (r *run) converse(ctx context.Context) (Completion, error) {
	if err := r.awaitDecisions(ctx); err != nil {
		return Completion{}, err
	}
	r.awaitToolbox(ctx)
	r.messages = append(r.messages, r.newMessages...) // add the steps of an earlier process
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

// hasCallsToRun reports whether an answer has calls to run. Calls in a filtered or refused answer do not run. Calls of a
// model that was offered no tools do not run either.
func (r *run) hasCallsToRun(c Completion) bool {
	return len(c.ToolCalls) > 0 && len(r.tools) > 0 && c.Finish != FinishFiltered && r.reply.refusal.Len() == 0
}
