package provider

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
)

// refusalHolds is how long a refusal is remembered. After refusalHolds, requests contain the refused part again, because the
// provider may have changed, or a router may choose another server. If the provider still refuses the part, telex repeats one
// request without it.
const refusalHolds = 10 * time.Minute

// Shape says which form the requests to a provider must have. Each bit is one known fact about the provider. Most bits make
// requests leave out something that the provider refuses. The first two bits have the same meaning for every API.
type Shape uint16

// These constants are the bits that every API uses. An API's own bits begin at FirstOwn.
const (
	NoStreaming   Shape = 1 << iota
	NoTemperature       // reasoning models accept only their default temperature
	FirstOwn
)

// Has reports whether the shape has any of the bits.
func (s Shape) Has(bits Shape) bool { return s&bits != 0 }

// shapes finds the shape in which a provider accepts requests, and remembers for a while what it refused. shapes is safe for
// concurrent use.
type shapes struct {
	momentary Shape // bits that apply to one request only

	mu      sync.Mutex
	lasting Shape // the shape of the first request, and the bits that the method remember added
	refused Shape // bits that were added because of refusals
	until   time.Time
	logged  Shape
}

// now returns the current shape.
func (f *shapes) now() Shape {
	if time.Now().Before(f.until) {
		return f.lasting | f.refused
	}
	return f.lasting
}

// ask sends a request in the current shape. If the provider refuses a part of the request, ask sends the request again in the
// shape that the function concede returns. Each error of ask is an *agent.ModelError.
func (f *shapes) ask(
	ctx context.Context, log *slog.Logger, send func(Shape) (agent.Completion, error), concede func(error, Shape) (Shape, bool),
) (agent.Completion, error) {
	once := Shape(0)
	for refused := 0; ; refused++ {
		f.mu.Lock()
		s := f.now() | once
		f.mu.Unlock()
		c, err := send(s)
		next, conceded := concede(err, s)
		if !conceded {
			c.Refused = refused
			return c, asModelError(err, refused)
		}
		once |= next & f.momentary
		f.learn(ctx, log, next&^f.momentary, err)
	}
}

// learn remembers a refusal, and logs it the first time. Several concurrent turns may meet the same refusal.
func (f *shapes) learn(ctx context.Context, log *slog.Logger, s Shape, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if s |= now; s == now {
		return
	}
	f.refused, f.until = s, time.Now().Add(refusalHolds)
	isNew := s &^ f.logged
	f.logged |= s
	if isNew == 0 {
		return
	}
	level := slog.LevelInfo
	if isNew.Has(NoTemperature) { // the operator configured the temperature, and should know that it has no effect
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "the provider requires requests of another form, sending these for ten minutes", slog.Any("error", why))
}

// remember adds bits that did not result from a refusal. The added bits do not expire.
func (f *shapes) remember(s Shape) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lasting |= s
	f.logged |= s
}

// refusal matches errors about an unknown or unsupported parameter, but not errors about a value that is out of range.
var refusal = regexp.MustCompile(`(?i)unsupported|support|unrecogni[sz]ed|unknown|unexpected|\bextra\b|` +
	`not (permitted|allowed|available)|forbidden|must be false|must be verified|only the default`)

// streaming matches error messages about streaming. streaming does not match the word upstream.
var streaming = regexp.MustCompile(`(?i)\bstream(ing|ed|s)?\b`)

// Rejection is the provider's reason for refusing a request. The zero Rejection means that the request was not refused.
type Rejection struct {
	e *APIError
	// Refusal says that the provider does not support a part of the request.
	Refusal bool
}

// RejectionIn returns the rejection that an error contains, or the zero Rejection if the error contains none.
func RejectionIn(err error) Rejection {
	me, isModel := errors.AsType[*agent.ModelError](err)
	e, told := errors.AsType[*APIError](err)
	if !isModel || !told || me.Status != http.StatusBadRequest && me.Status != http.StatusUnprocessableEntity {
		return Rejection{e: &APIError{}}
	}
	return Rejection{e: e, Refusal: refusal.MatchString(e.Message) || strings.HasPrefix(e.code(), "unsupported")}
}

// Names reports whether the provider's error mentions a field.
func (r Rejection) Names(field string) bool { return strings.Contains(r.e.Param+r.e.Message, field) }

// Matches reports whether the provider's error message matches an expression.
func (r Rejection) Matches(re *regexp.Regexp) bool { return re.MatchString(r.e.Message) }

// Refuses reports whether the provider refuses one of these parameters. Callers check longer parameter names first, because a
// longer name may contain a shorter one.
func (r Rejection) Refuses(params ...string) bool {
	return r.Refusal && slices.ContainsFunc(params, func(param string) bool {
		return r.e.Param == param || r.e.Param == "" && strings.Contains(r.e.Message, param)
	})
}

// RefusesStreaming reports whether the provider refuses to stream.
func (r Rejection) RefusesStreaming() bool {
	return r.Refusal && (r.e.Param == "stream" || r.e.Param == "" && streaming.MatchString(r.e.Message))
}

// asModelError converts an error to an *agent.ModelError and sets its field Refused. Errors of go-openai itself are not
// ModelErrors.
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
