package provider

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"telex/agent"
)

// refusalHolds is how long a refusal is remembered. A provider that is mended, or a router that chose another server, is
// noticed then; one that is not costs a refused request.
const refusalHolds = 10 * time.Minute

// Shapes finds the shape in which a provider takes requests, and remembers for a while what it refused. A shape says what
// was learned about the provider, and joining shapes loses nothing. It is safe for concurrent use.
type Shapes[S comparable] struct {
	mu      sync.Mutex
	lasting S // the first one, and what was noted
	refused S // what was learned from refusals
	until   time.Time
	logged  S // everything that learned was told of
	join    func(a, b S) S
}

// NewShapes returns what begins with a shape. Join returns the shape that has learned what a and b did.
func NewShapes[S comparable](first S, join func(a, b S) S) *Shapes[S] {
	return &Shapes[S]{lasting: first, logged: first, join: join}
}

// shape returns the shape that holds now.
func (f *Shapes[S]) shape() S {
	if time.Now().Before(f.until) {
		return f.join(f.lasting, f.refused)
	}
	return f.lasting
}

// Ask sends a request in the shape that is known, and again in the one that concede makes of it for
// the error. Learned is told of every refusal once. The error is an *agent.ModelError.
func (f *Shapes[S]) Ask(
	send func(S) (agent.Completion, error), concede func(error, S) (S, bool), learned func(before, after S, why error),
) (agent.Completion, error) {
	for refused := 0; ; refused++ {
		f.mu.Lock()
		s := f.shape()
		f.mu.Unlock()
		c, err := send(s)
		next, conceded := concede(err, s)
		if !conceded {
			c.Refused = refused
			return c, asModelError(err, refused)
		}
		f.learn(next, func(before, after S) { learned(before, after, err) })
	}
}

// learn remembers a refusal. Turns that run side by side may each have met one.
func (f *Shapes[S]) learn(s S, learned func(before, after S)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.shape()
	if s = f.join(now, s); s == now {
		return
	}
	f.refused, f.until = s, time.Now().Add(refusalHolds)
	if all := f.join(f.logged, s); all != f.logged {
		learned(f.logged, all)
		f.logged = all
	}
}

// Note remembers for good what was learned in another way than by a refusal.
func (f *Shapes[S]) Note(s S) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lasting = f.join(f.lasting, s)
	f.logged = f.join(f.logged, s)
}

// refusal matches how servers say that they don't know or don't take a parameter. A value that
// is merely out of range is not meant.
var refusal = regexp.MustCompile(`(?i)unsupported|support|unrecogni[sz]ed|unknown|unexpected|\bextra\b|` +
	`not (permitted|allowed|available)|forbidden|must be false|must be verified|only the default`)

// streaming matches a message about streaming, and none about an upstream.
var streaming = regexp.MustCompile(`(?i)\bstream(ing|ed|s)?\b`)

// Rejection is a provider's word that a request is not as it should be.
type Rejection struct{ e *APIError }

// RejectionIn returns the rejection that an error is; ok is false for any other error.
func RejectionIn(err error) (_ Rejection, ok bool) {
	me, isModel := errors.AsType[*agent.ModelError](err)
	if !isModel || me.Status != http.StatusBadRequest && me.Status != http.StatusUnprocessableEntity {
		return Rejection{}, false
	}
	e, ok := errors.AsType[*APIError](err)
	return Rejection{e: e}, ok
}

// Names says whether a field is spoken of, in whatever way.
func (r Rejection) Names(field string) bool { return strings.Contains(r.e.Param+r.e.Message, field) }

// Matches says whether the message is like an expression.
func (r Rejection) Matches(re *regexp.Regexp) bool { return re.MatchString(r.e.Message) }

// Refusal returns the refusal that this is; ok is false where something else is wrong.
func (r Rejection) Refusal() (_ Refusal, ok bool) {
	return Refusal(r), refusal.MatchString(r.e.Message) || strings.HasPrefix(r.e.code(), "unsupported")
}

// Refusal is a provider's word that it does not take a part of a request.
type Refusal struct{ e *APIError }

// RefusalIn returns the refusal that an error is; ok is false for any other error.
func RefusalIn(err error) (Refusal, bool) {
	r, ok := RejectionIn(err)
	if !ok {
		return Refusal{}, false
	}
	return r.Refusal()
}

// Of says whether a parameter is what is refused. Ask for longer names first: they hold the shorter ones.
func (r Refusal) Of(param string) bool {
	return r.e.Param == param || r.e.Param == "" && strings.Contains(r.e.Message, param)
}

// OfStreaming says whether streaming is what is refused.
func (r Refusal) OfStreaming() bool {
	return r.e.Param == "stream" || r.e.Param == "" && streaming.MatchString(r.e.Message)
}

// asModelError makes an error of go-openai's own one that the agent understands.
func asModelError(err error, refused int) error {
	if err == nil {
		return nil
	}
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		me.Refused = refused
		return err
	}
	return &agent.ModelError{Kind: agent.BadRequest, Refused: refused, Err: err}
}
