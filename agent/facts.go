package agent

import (
	"sync"
	"time"
)

// These constants determine how the usage that a provider reports changes modelFacts.factor.
const (
	minFactor      = 0.5 // a ratio below minFactor or above maxFactor means that the reported usage is wrong, not the estimate
	maxFactor      = 3.0
	factorShare    = 0.25 // weight of the newest usage in the factor
	minCalibration = 64   // minimum of estimated tokens: in a smaller request, the overhead would distort the factor
)

// modelFacts is what earlier requests have shown about one model. modelFacts is safe for concurrent use.
type modelFacts struct {
	mu           sync.Mutex
	factor       float64 // how many tokens the provider counts for each estimated token
	readImages   bool    // the model accepted an image
	readFiles    bool    // the model accepted a file
	restrictions map[string]restriction
}

// restriction is a limit that became known when the provider refused a request. A restriction expires, because the provider
// may change, or a router may choose another server.
type restriction struct {
	limit int // the maximum number of tokens; 1 if the provider refuses a part of a request
	until time.Time
}

const restrictionDuration = 10 * time.Minute

// These constants are the names of restrictions that limit a number of tokens.
const (
	maxRequest = "tokens of a request" // estimated tokens; the provider refused a larger request
	maxWindow  = "tokens of a window"  // tokens of a request and its answer, as reported by the provider
	maxAnswer  = "tokens of an answer" // tokens as the provider counts them
)

// These constants name the parts of a request that a provider can refuse, except single tools (see toolKey).
const (
	allImages = "images"
	allFiles  = "files"
	allTools  = "tools"
	// If the provider refuses one of the following parts, telex does not remember the refusal for later turns, because the refusal
	// concerns only messages of the current request.
	allCalls    = "calls"        // calls in the history; they are sent as text
	theseImages = "these images" // images that can't be read, or are too large
	theseFiles  = "these files"  // files that can't be read, or are too large
)

// toolKey returns the name of a single tool as a part of a request that a provider can refuse. The name includes the schema,
// because providers refuse tools because of their schemas.
func toolKey(name string, schema []byte) string { return name + " " + string(schema) }

// limitOf returns the limit of a restriction, or 0 if there is no such restriction or it has expired.
func (l *modelFacts) limitOf(what string) int {
	if lesson := l.restrictions[what]; time.Now().Before(lesson.until) {
		return lesson.limit
	}
	return 0
}

func (l *modelFacts) remember(what string, limit int) {
	l.restrictions[what] = restriction{limit: limit, until: time.Now().Add(restrictionDuration)}
}

// refuses reports whether the provider is currently known to refuse a part of requests.
func (l *modelFacts) refuses(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limitOf(what) > 0
}

// learn records that the provider refused a part and accepted the request without that part. learn reports whether the refusal
// is new. If the provider has accepted other images or files before, it refused only the images or files of this request. If
// so, learn records nothing, because the provider does not refuse all images or files.
func (l *modelFacts) learn(what string) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what == allImages && l.readImages || what == allFiles && l.readFiles || l.limitOf(what) > 0 {
		return false
	}
	_, known := l.restrictions[what]
	l.remember(what, 1)
	return !known
}

// report reports whether a warning about the given problem should be logged now. The same warning is logged at most once per
// restrictionDuration.
func (l *modelFacts) report(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	what = "log " + what
	isNew := l.limitOf(what) == 0
	if isNew {
		l.remember(what, 1)
	}
	return isNew
}

func newModelFacts() *modelFacts {
	return &modelFacts{factor: 1, restrictions: make(map[string]restriction)}
}

// fitting returns how many estimated tokens a request may have, given the tokens of the window and of the answer; 0: no limit.
func (l *modelFacts) fitting(window, output int) int {
	if window == 0 {
		return 0
	}
	const margin = 0.95 // the estimate may be too low
	return max(1, int(margin*float64(l.estimated(window-output))))
}

// room returns the result of fitting, or a smaller number if the provider refused a request of that size.
func (l *modelFacts) room(window, output int) int {
	return l.within(maxRequest, l.fitting(window, output))
}

// within returns n, or the limit of a restriction if that is smaller. 0 means no limit.
func (l *modelFacts) within(what string, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := l.limitOf(what); limit > 0 && (n == 0 || limit < n) {
		return limit
	}
	return n
}

// shrinkOutput limits answers to n tokens for restrictionDuration.
func (l *modelFacts) shrinkOutput(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(maxAnswer, n)
}

// tokens converts estimated tokens to tokens as the provider counts them.
func (l *modelFacts) tokens(estimated int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(float64(estimated) * l.factor)
}

// estimated converts tokens as the provider counts them to estimated tokens.
func (l *modelFacts) estimated(tokens int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(float64(tokens) / l.factor)
}

// recordAccepted updates the facts after the provider has accepted a request. reported is the number of tokens that the
// provider reported for it, or 0. Requests with images or files don't change the factor, because the estimates of images and
// files are rough.
func (l *modelFacts) recordAccepted(r Request, estimated, reported int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readImages = l.readImages || hasImages(r.Messages)
	l.readFiles = l.readFiles || hasFiles(r.Messages)
	if reported > 0 && estimated >= minCalibration && !hasImages(r.Messages) && !hasFiles(r.Messages) {
		ratio := min(max(float64(reported)/float64(estimated), minFactor), maxFactor)
		l.factor += factorShare * (ratio - l.factor)
	}
	// Raise the limit again step by step, because the refused request may have been an unusual one.
	if limit := l.limitOf(maxRequest); limit > 0 && estimated > limit/2 {
		l.restrictions[maxRequest] = restriction{limit: limit + limit/100 + 1, until: l.restrictions[maxRequest].until}
	}
}

// rememberTooLong is called when the provider has refused a request because of its length. rememberTooLong records the size of
// the window that the provider reported. If the provider reported no new size of the window, rememberTooLong limits requests to
// three quarters of the refused one.
func (l *modelFacts) rememberTooLong(estimated, reportedWindow int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reportedWindow > 0 && l.limitOf(maxWindow) != reportedWindow {
		l.remember(maxWindow, reportedWindow)
		return
	}
	if now, smaller := l.limitOf(maxRequest), max(1, estimated*3/4); now == 0 || smaller < now {
		l.remember(maxRequest, smaller)
	}
}
