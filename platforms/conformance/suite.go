package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// Run runs each case of the suite as a subtest of t. Run writes the outcome of each case to the log and to attributes
// of the subtests. The command platforms/conformance/table turns the output of `go test -json` into a table of cases
// and platforms.
func Run(t *testing.T, create Factory) {
	var column strings.Builder
	for _, c := range cases() {
		var s *scene
		passed := t.Run(c.name, func(t *testing.T) {
			t.Attr(AttrCase, c.name)
			synctest.Test(t, func(t *testing.T) {
				s = &scene{T: t, World: create(t), log: &Log{}}
				s.adapter = s.connect(Proper)
				c.run(s)
				s.wantNoSecret("the log", s.log.String())
			})
			if s.lacks != "" {
				t.Attr(AttrLacks, s.lacks)
			}
		})
		fmt.Fprintf(&column, "%-10s %s\n", s.outcome(passed), c.name)
	}
	t.Logf("conformance:\n%s", column.String())
}

// These are the attributes of the subtest that runs a case: the name of the case, and the ability that the platform
// lacks if the case did not run.
const (
	AttrCase  = "case"
	AttrLacks = "lacks"
)

// cases returns all cases, in the order in which the table shows them.
func cases() []testCase {
	return slices.Concat(
		sendCases(), editCases(), textCases(), exactCases(), buttonCases(), draftCases(), streamCases(), streamEndCases(), streamFailureCases(), fileCases(), keyCases(), findCases(),
		failureCases(), receiveCases(), decodeCases(), fetchCases(), menuCases(),
		finalCases(), overflowCases(), limitCases(), refusalCases(), narrowRefusalCases(), turnCases(), troubleCases(), refusedCases(), endingCases(), killCases(), answerFileCases(),
		specialCases(), commandCases(), questionCases(), thoughtCases(),
	)
}

type testCase struct {
	name string
	run  func(s *scene)
}

// scene consists of a world and of the adapter under test.
type scene struct {
	*testing.T
	World
	adapter Adapter
	log     *Log
	lacks   string        // an ability that the case needs but the platform lacks; empty: no ability is missing
	memory  *memory.Store // the data that a new process finds in its store; nil: no process has run
}

// outcome returns the outcome of the case in one word.
func (s *scene) outcome(passed bool) string {
	switch {
	case s == nil: // the flag -run excluded the case
		return "-"
	case !passed:
		return "FAILED"
	case s.lacks != "":
		return "no " + s.lacks
	}
	return "ok"
}

func (s *scene) connect(how Connection) Adapter {
	return s.Connect(slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})), how)
}

func (s *scene) wantNoSecret(where, text string) {
	s.Helper()
	for _, secret := range s.Secrets() {
		if strings.Contains(text, secret) {
			s.Errorf("%s contains a secret: %s", where, strings.ReplaceAll(text, secret, "<HERE>"))
		}
	}
}

// wantKind checks that err is a SendError of the given kind, and that no error in its chain contains a secret.
func (s *scene) wantKind(err error, want chat.ErrorKind) {
	s.Helper()
	_ = s.failure(err, want)
}

// failure checks that err is a SendError of the given kind that contains no secret, and returns the SendError.
func (s *scene) failure(err error, want chat.ErrorKind) *chat.SendError {
	s.Helper()
	failure, ok := errors.AsType[*chat.SendError](err)
	if !ok {
		s.Fatalf("error = %v, want a SendError of kind %v", err, want)
	}
	if failure.Kind != want {
		s.Errorf("kind = %v, want %v (%v)", failure.Kind, want, err)
	}
	s.wantTold(failure.RateLimits)
	for e := err; e != nil; e = errors.Unwrap(e) {
		s.wantNoSecret("an error", fmt.Sprintf("%v %+v", e, e))
	}
	return failure
}

// wantTold checks that the rate limits in a response have valid values. The list of rate limits is empty if the
// platform reports no rate limits.
func (s *scene) wantTold(list []chat.RateLimitInfo) {
	s.Helper()
	for _, l := range list {
		if l.Scope == 0 || l.Ops == 0 || l.Limit <= 0 || l.Remaining < 0 || l.Remaining > l.Limit || l.Reset < 0 {
			s.Errorf("the answer told %+v of a limit, which makes no sense", l)
		}
	}
}

func (s *scene) wantShown(to chat.Target, want ...string) {
	s.Helper()
	if got := s.Shown(to); !slices.Equal(got, want) {
		s.Errorf("shown are %q, want %q", got, want)
	}
}

func (s *scene) wantCalls(op chat.Op, want int) {
	s.Helper()
	if got := s.Calls(op); got != want {
		s.Errorf("the platform received %d calls, want %d", got, want)
	}
}

// wantNone checks that a list is empty. The parameter what describes the elements of the list in the error message.
func (s *scene) wantNone(list []string, what string, args ...any) {
	s.Helper()
	if len(list) != 0 {
		s.Errorf(what+" %q, want none", append(args, list)...)
	}
}

// wantLimited checks that a call failed because of a rate limit, and that the error contains the correct time to wait.
func (s *scene) wantLimited(err error) {
	s.Helper()
	if failure := s.failure(err, chat.RateLimited); failure.RetryAfter != s.retryAfter() {
		s.Errorf("retry after %v, want %v", failure.RetryAfter, s.retryAfter())
	}
}

// retryAfter returns how long the bot must wait according to the adapter's error after the fault RateLimit.
func (s *scene) retryAfter() time.Duration {
	if w, ok := s.World.(UnknownLimit); ok {
		return w.RetryAfter()
	}
	return RetryAfter
}

// sendFails sends a text while the fault f makes the outcome unknown.
func (s *scene) sendFails(to chat.Target, text string, f Fault) {
	s.Helper()
	s.Break(chat.OpSend, f)
	_, err := s.adapter.Send(s.Context(), to, outgoing(text))
	s.wantKind(err, chat.Uncertain)
}

// outgoing returns a message with unformatted text, in the form in which the gateway passes a message to an adapter.
func outgoing(text string) chat.Outgoing {
	return chat.Outgoing{Text: text, Plain: text, Source: text, Key: "key of " + text}
}

// send sends a text with the adapter. If sending fails, the case fails.
func (s *scene) send(to chat.Target, text string) chat.MessageRef {
	s.Helper()
	receipt, err := s.adapter.Send(s.Context(), to, outgoing(text))
	return s.shown(to, receipt, err)
}

// shown checks that a create call succeeded, and returns the reference to the created message.
func (s *scene) shown(to chat.Target, receipt chat.Receipt, err error) chat.MessageRef {
	s.Helper()
	if err != nil {
		s.Fatalf("create: %v", err)
	}
	s.wantTold(receipt.RateLimits)
	if receipt.Ref.Target != to || receipt.Ref.ID == "" {
		s.Fatalf("created is %+v, want a message in %+v", receipt, to)
	}
	return receipt.Ref
}

// edit edits a message with the adapter. If the edit fails, the case fails.
func (s *scene) edit(e preview.Editor, ref chat.MessageRef, m chat.Outgoing) {
	s.Helper()
	if _, err := e.Edit(s.Context(), ref, m); err != nil {
		s.Errorf("Edit: %v", err)
	}
}

func (s *scene) delete(d preview.Deleter, ref chat.MessageRef) {
	s.Helper()
	if err := d.Delete(s.Context(), ref); err != nil {
		s.Errorf("Delete: %v", err)
	}
}

// The function with runs a case on each platform that has the given ability.
func with[I any](ability func(*scene) (I, bool), run func(*scene, I)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		if v, ok := ability(s); ok {
			run(s, v)
		}
	}
}

// The function both runs a case in the private chat and in the group.
func both(run func(*scene, chat.Target)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		for _, to := range s.both() {
			run(s, to)
		}
	}
}

// inBoth runs a case in the private chat and in the group, on each platform that has the given ability.
func inBoth[I any](ability func(*scene) (I, bool), run func(*scene, I, chat.Target)) func(*scene) {
	return with(ability, func(s *scene, v I) {
		s.Helper()
		both(func(s *scene, to chat.Target) { run(s, v, to) })(s)
	})
}

// inPlaces is like inBoth, but runs the case only in those chats for whose profile the function there returns true.
func inPlaces[I any](ability func(*scene) (I, bool), there func(chat.Profile) bool, run func(*scene, I, chat.Target)) func(*scene) {
	return inBoth(ability, func(s *scene, v I, to chat.Target) {
		s.Helper()
		if there(s.adapter.Profile(to)) {
			run(s, v, to)
		}
	})
}

// ability returns the adapter as an I and true if the adapter has the ability with the given name. If the adapter lacks
// the ability, the function ability records the ability's name in the scene. The parameter promised says whether the
// adapter's capabilities contain the ability.
func ability[I any](s *scene, name string, promised bool) (I, bool) {
	s.Helper()
	v, ok := s.adapter.(I)
	if !ok && s.lacks == "" {
		s.lacks = name
	}
	if promised != ok {
		s.Fatalf("capability %s is %t, but its interface is implemented: %t", name, promised, ok)
	}
	return v, ok
}

func (s *scene) can() chat.Capabilities { return s.adapter.Capabilities() }

func (s *scene) editor() (preview.Editor, bool) {
	return ability[preview.Editor](s, "Edit", s.can().Edit)
}

func (s *scene) deleter() (preview.Deleter, bool) {
	return ability[preview.Deleter](s, "Delete", s.can().Delete)
}

func (s *scene) typer() (preview.Typer, bool) {
	return ability[preview.Typer](s, "Typing", s.can().Typing)
}

func (s *scene) filer() (preview.Filer, bool) {
	return ability[preview.Filer](s, "File", s.can().File)
}

func (s *scene) drafter() (preview.Drafter, bool) {
	return ability[preview.Drafter](s, "Draft", s.can().Draft)
}

func (s *scene) streamer() (preview.Streamer, bool) {
	return ability[preview.Streamer](s, "Stream", s.can().Stream)
}

func (s *scene) finder() (preview.Finder, bool) {
	return ability[preview.Finder](s, "Find", s.can().Find)
}

func (s *scene) fetcher() (gateway.Fetcher, bool) {
	return ability[gateway.Fetcher](s, "Fetch", s.can().Fetch)
}

func (s *scene) menu() (gateway.Menu, bool) {
	return ability[gateway.Menu](s, "Menu", s.can().Menu)
}

// call is one kind of call that an adapter can make to its platform.
type call struct {
	op  chat.Op
	run func(ctx context.Context, a Adapter) error
}

// calls returns every call that the adapter can make in the private chat. The method calls first sends the messages
// that these calls change.
func (s *scene) calls() []call {
	// The method calls records no ability as missing, because a case that makes all calls also runs on platforms that lack
	// some kinds of calls.
	defer func(before string) { s.lacks = before }(s.lacks)
	to := s.Private()
	list := []call{{chat.OpSend, func(ctx context.Context, a Adapter) error {
		_, err := a.Send(ctx, to, outgoing("from a call"))
		return err
	}}}
	var ref chat.MessageRef
	_, edits := s.editor()
	_, deletes := s.deleter()
	if edits || deletes {
		ref = s.send(to, "to be changed")
	}
	if edits {
		list = append(list, call{chat.OpEdit, func(ctx context.Context, a Adapter) error {
			_, err := a.(preview.Editor).Edit(ctx, ref, outgoing("changed")) //nolint:errcheck // the adapter has the capability.
			return err
		}})
	}
	if deletes {
		list = append(list, call{chat.OpDelete, func(ctx context.Context, a Adapter) error {
			return a.(preview.Deleter).Delete(ctx, ref) //nolint:errcheck // the adapter has the capability.
		}})
	}
	if _, ok := s.filer(); ok {
		list = append(list, call{chat.OpSend, func(ctx context.Context, a Adapter) error {
			_, err := a.(preview.Filer).SendFile(ctx, to, outgoing("with a call"), file()) //nolint:errcheck // the adapter has the capability.
			return err
		}})
	}
	if _, ok := s.drafter(); ok && s.adapter.Profile(to).DraftFor > 0 {
		list = append(list, call{chat.OpDraft, func(ctx context.Context, a Adapter) error {
			return a.(preview.Drafter).Draft(ctx, to, draftID, outgoing("while a call lasts")) //nolint:errcheck // the adapter has the capability.
		}})
	}
	if _, ok := s.typer(); ok {
		place := s.typed()[0]
		list = append(list, call{chat.OpTyping, func(ctx context.Context, a Adapter) error {
			return a.(preview.Typer).Typing(ctx, place) //nolint:errcheck // the adapter has the capability.
		}})
	}
	return list
}

// promptly is how soon an operation must end after its context has ended. An operation that takes longer than promptly
// in virtual time has ignored the end of its context.
const promptly = 100 * time.Millisecond

// pass waits for the duration d in virtual time.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the suite runs only in synctest bubbles, where a sleep takes no real time.
}
