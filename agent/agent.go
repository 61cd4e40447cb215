package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Options configure an Agent.
type Options struct {
	// Models are the models to ask, in order of preference. The first model answers, unless Turn.Model names another one. If
	// a model fails, the agent asks the next one. Each model needs a unique name.
	Models []ModelOptions
	// System is the system prompt of turns whose Turn.System is empty.
	System string
	Tools  Toolbox // nil: the agent offers no tools to the models
	// Pipeline lists models that answer one after the other. Each model after the first reads the previous model's answer in
	// place of the question. People see only the last answer. If Pipeline is empty, only the turn's model answers.
	Pipeline []Node
	// MaxParallel is how many calls of read-only tools may run at the same time; 0 means 4.
	MaxParallel int
	Limits      Limits
	// ThinkTags are names of tags, such as think for <think>. Text that a model writes between an opening and a closing tag is
	// reasoning and not part of its answer.
	ThinkTags []string
	// Lines are fixed texts that tell people why a turn ended early. If a text is empty, the agent uses the text of
	// DefaultLines.
	Lines Lines
	Log   *slog.Logger
}

// ModelOptions are a model and the limits of its requests.
type ModelOptions struct {
	Model     Model
	Window    int // size of the context window in tokens, request and answer together; 0: unlimited
	MaxOutput int // configured maximum length of an answer in tokens; 0: not known
}

func (o Options) validate() error {
	if len(o.Models) == 0 {
		return errors.New("no model")
	}
	names := make(map[string]bool, len(o.Models))
	for _, m := range o.Models {
		if m.Model == nil {
			return errors.New("no model")
		}
		name := m.Model.Name()
		switch {
		case names[name]:
			return fmt.Errorf("two models are named %q", name)
		case m.Window < 0 || m.MaxOutput < 0:
			return fmt.Errorf("model %q: negative number of tokens", name)
		case m.Window > 0 && m.MaxOutput >= m.Window:
			return fmt.Errorf("model %q: an output of %d tokens leaves nothing of a window of %d", name, m.MaxOutput, m.Window)
		}
		names[name] = true
	}
	if o.Log == nil {
		return errors.New("no logger")
	}
	if o.Limits.Turn < 0 || o.Limits.FirstToken < 0 || o.Limits.Silence < 0 || o.Limits.ModelCalls < 0 || o.Limits.ToolCalls < 0 {
		return fmt.Errorf("negative limit in %+v", o.Limits)
	}
	if o.MaxParallel < 0 {
		return fmt.Errorf("negative number of parallel tools: %d", o.MaxParallel)
	}
	if err := validatePipeline(o.Pipeline, names); err != nil {
		return err
	}
	for _, tag := range o.ThinkTags {
		if tag == "" || strings.ContainsAny(tag, "<>/`~"+whiteSpace) {
			return fmt.Errorf("think tag %q: want a name such as think, without brackets", tag)
		}
	}
	return nil
}

// Agent runs turns. Agent is safe for concurrent use.
type Agent struct {
	opts   Options
	models []*chainModel
}

// New returns an agent.
func New(o Options) (*Agent, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	o.Lines = o.Lines.orDefault()
	a := &Agent{opts: o}
	for _, m := range o.Models {
		a.models = append(a.models, &chainModel{ModelOptions: m, facts: newModelFacts()})
	}
	return a, nil
}

// Models returns the names of the models, in the order of Options.Models.
func (a *Agent) Models() []string {
	names := make([]string, len(a.models))
	for i, m := range a.models {
		names[i] = m.Model.Name()
	}
	return names
}

// Error tells operators why a turn failed. Error contains no secrets. People don't see an Error; the caller of Run decides
// which text they see.
type Error struct {
	Reason StopReason // the same value as Result.Stop
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("turn ended (%s): %v", e.Reason, e.Err) }

// Unwrap returns the cause of the failure. For a cancelled turn, Unwrap returns the cause of the turn's context
// (context.Cause). For other failures, it usually returns a *ModelError.
func (e *Error) Unwrap() error { return e.Err }

// Run runs one turn. Run returns when the model has answered, when a limit of the turn is reached, when all models have
// failed, or when ctx ends. The end of ctx closes the connection to the model at once. Run calls emit only in the goroutine
// of its caller, and never after it has returned. emit should not block, because Run waits for it.
//
// The Result is complete even if Run returns an error. Each error of Run is an *Error. Run returns no error if the text of
// the Result contains one of the fixed Lines, because this line tells people why the turn ended.
//
// If a conversation does not fit the model's context window, Run lets the model summarize the older messages, or leaves them
// out. So a turn never fails merely because the conversation is long.
func (a *Agent) Run(ctx context.Context, t Turn, emit func(Event)) (Result, error) {
	began := time.Now()
	ctx, clock, stop := startClock(ctx, a.opts.Limits.Turn, errTurnLimit)
	defer stop()
	r := newRun(a, t, clock, emit)

	completion, err := r.pipeline(ctx)
	r.reply.close()
	r.statuses.failUnfinished()
	result := Result{
		Model:      r.answeringModel.Model.Name(),
		Window:     r.model.Window,
		ToolCalls:  r.toolCalls,
		Files:      r.createdFiles(),
		Context:    r.contextTokens,
		Compaction: r.compaction(),
	}
	r.account(&result)
	switch {
	case err == nil:
		r.finish(&result, completion)
	case errors.Is(err, errTooLong), errors.Is(err, errNoRoom):
		result.Stop, result.Append = StopNoRoom, r.historyWith(r.reply.answerText())
		if errors.Is(err, errTooLong) {
			result.Stop = StopTooLong
		}
		result.Text = r.withLine(r.reply.fullText(), result.Stop)
		err = nil
	case isKind(err, Filtered):
		r.finish(&result, Completion{Finish: FinishFiltered})
		err = nil
	default:
		err = r.fail(ctx, &result, err)
	}
	if err == nil && result.Stop != StopDone && result.Stop != StopClientCalls {
		r.log.LogAttrs(ctx, slog.LevelInfo, "the turn ended early", slog.String("reason", string(result.Stop)))
	}
	result.Elapsed = time.Since(began)
	return result, err
}

// fail fills in the result of a turn that ended before the model had finished its answer.
func (r *run) fail(ctx context.Context, result *Result, err error) error {
	result.Partial = true
	result.Text = r.reply.fullText()
	result.Append = r.historyWith(r.reply.answerText())
	if r.hasUncountedText() && !r.usageWarned {
		level := slog.LevelWarn
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTurnLimit) { // the caller cancelled the turn
			level = slog.LevelDebug
		}
		r.log.LogAttrs(ctx, level, "the answer ended before the provider reported its usage, counting 0 tokens for it")
	}
	switch {
	case errors.Is(err, errFirstToken):
		result.Stop = StopFirstToken
	case errors.Is(err, errSilence):
		result.Stop = StopSilence
	case errors.Is(err, errCallLimit):
		result.Stop = StopCalls
	case ctx.Err() == nil:
		result.Stop = StopError
	default:
		err = context.Cause(ctx)
		result.Stop = StopCancelled
		if errors.Is(err, errTurnLimit) {
			result.Stop = StopTimeLimit
		}
	}
	return &Error{Reason: result.Stop, Err: err}
}

// finish fills in the result of a turn in which the model finished its answer. If people must know why the text ends, finish
// appends one of the fixed Lines. If the text is empty, finish replaces it by a fixed line.
func (r *run) finish(result *Result, c Completion) {
	text, own := r.reply.fullText(), r.reply.answerText()
	if !visible(text) {
		text = ""
	}
	if !visible(own) {
		own = ""
	}
	result.Append = r.historyWith(own)
	result.Refusal = validUTF8(r.reply.refusal.String())
	switch refusal := r.reply.refusal.String(); {
	case r.client.handedBack && c.Finish == FinishLength:
		result.Stop = StopLength
	case r.client.handedBack:
		result.Stop = StopClientCalls
	case c.Finish == FinishFiltered:
		result.Stop = StopFiltered
	case refusal != "":
		result.Stop = StopRefused
		if own == "" {
			result.Append = r.historyWith(validUTF8(refusal))
		}
	case r.limitReached != "":
		result.Stop = r.limitReached
	case len(c.ToolCalls) > 0:
		result.Stop = StopNoTool
	case c.Finish == FinishLength:
		result.Stop = StopLength
	case text == "" && r.reply.hasReasoning:
		result.Stop = StopThinking
	case text == "":
		result.Stop = StopEmpty
	default:
		result.Stop = StopDone
	}
	result.Text = r.withLine(text, result.Stop)
}

// withLine appends to a text the fixed line that tells people why the turn ended, if there is a line for this reason.
func (r *run) withLine(text string, stop StopReason) string {
	line := r.opts.Lines[stop]
	if text == "" || line == "" {
		return text + line
	}
	return text + r.reply.closeFence() + "\n\n" + line
}

// visible reports whether the text has a visible character. Zero-width joiners and other characters that draw nothing do not
// count as visible.
func visible(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsGraphic(c) && !unicode.IsSpace(c) && !unicode.Is(unicode.M, c)
	})
}

func isKind(err error, kinds ...ErrorKind) bool { return slices.Contains(kinds, modelError(err).Kind) }
