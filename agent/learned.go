package agent

import (
	"sync"
	"time"
)

// How the usage that a provider reports changes the factor.
const (
	minFactor   = 0.5 // a ratio further off means that the usage is wrong, not the estimate
	maxFactor   = 3.0
	factorShare = 0.25 // of the newest usage in the factor
	minLesson   = 64   // estimated tokens; in shorter requests the overhead weighs too much
)

// learned is what turns found out about one model. It is safe for concurrent use.
type learned struct {
	mu         sync.Mutex
	factor     float64 // tokens as the provider counts for each estimated one
	readImages bool    // it accepted an image
	readFiles  bool    // it accepted a file
	lessons    map[string]lesson
}

// lesson is what a refusal taught. It holds for a while: the provider may be mended, or a router may choose another server.
type lesson struct {
	limit int // the number that must not be exceeded; 1: what the lesson is about is refused
	until time.Time
}

const lessonHolds = 10 * time.Minute

// Lessons with a limit.
const (
	maxRequest = "tokens of a request" // estimated, since the provider refused more
	maxWindow  = "tokens of a window"  // of a request and its answer, as the provider says
	maxAnswer  = "tokens of an answer" // as the provider counts
)

// What a provider can refuse besides single tools; see toolKey.
const (
	allImages = "images"
	allFiles  = "files"
	allTools  = "tools"
	// What is not the model's way, but that of one request.
	allCalls    = "calls"        // in the history; they are sent as text
	theseImages = "these images" // which can't be read, or are too large
	theseFiles  = "these files"  // which can't be read, or are too large
)

// toolKey stands for one tool. A tool that gets another schema is another one: schemas are why tools are refused.
func toolKey(name string, schema []byte) string { return name + " " + string(schema) }

// now returns the limit of a lesson that holds; 0: none does.
func (l *learned) now(what string) int {
	if lesson := l.lessons[what]; time.Now().Before(lesson.until) {
		return lesson.limit
	}
	return 0
}

func (l *learned) remember(what string, limit int) {
	l.lessons[what] = lesson{limit: limit, until: time.Now().Add(lessonHolds)}
}

// refuses reports whether the provider refuses something now.
func (l *learned) refuses(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now(what) > 0
}

// learn remembers that the provider refused something and accepted the request without it. It reports whether that
// was never learned before. A provider that accepted images or files before
// refused these ones, not all.
func (l *learned) learn(what string) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what == allImages && l.readImages || what == allFiles && l.readFiles || l.now(what) > 0 {
		return false
	}
	_, known := l.lessons[what]
	l.remember(what, 1)
	return !known
}

// report reports whether something is worth a line in the log: none was written a moment ago.
func (l *learned) report(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	what = "log " + what
	isNew := l.now(what) == 0
	if isNew {
		l.remember(what, 1)
	}
	return isNew
}

func newLearned() *learned { return &learned{factor: 1, lessons: make(map[string]lesson)} }

// fitting returns how many estimated tokens a request may have beside an answer of so many tokens
// in a window of so many; 0: any number.
func (l *learned) fitting(window, output int) int {
	if window == 0 {
		return 0
	}
	const margin = 0.95 // estimates err
	return max(1, int(margin*float64(l.estimated(window-output))))
}

// room is fitting, or less where the provider refused as much.
func (l *learned) room(window, output int) int {
	return l.within(maxRequest, l.fitting(window, output))
}

// within returns a number, or the limit of a lesson if that is smaller; 0: any number.
func (l *learned) within(what string, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := l.now(what); limit > 0 && (n == 0 || limit < n) {
		return limit
	}
	return n
}

// shrinkOutput limits answers to so many tokens for a while.
func (l *learned) shrinkOutput(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(maxAnswer, n)
}

// tokens returns what the provider would count for so many estimated tokens.
func (l *learned) tokens(estimated int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(float64(estimated) * l.factor)
}

// estimated returns how many estimated tokens so many of the provider's are.
func (l *learned) estimated(tokens int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(float64(tokens) / l.factor)
}

// accepted learns from a request that the provider accepted and counted; 0: it reported no count. Requests with images or
// files don't change the factor: their tokens are a rough constant.
func (l *learned) accepted(r Request, estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readImages = l.readImages || hasImages(r.Messages)
	l.readFiles = l.readFiles || hasFiles(r.Messages)
	if told > 0 && estimated >= minLesson && !hasImages(r.Messages) && !hasFiles(r.Messages) {
		ratio := min(max(float64(told)/float64(estimated), minFactor), maxFactor)
		l.factor += factorShare * (ratio - l.factor)
	}
	// A refusal of an unusual text must not make the room small for good.
	if most := l.now(maxRequest); most > 0 && estimated > most/2 {
		l.lessons[maxRequest] = lesson{limit: most + most/100 + 1, until: l.lessons[maxRequest].until}
	}
}

// tooLong remembers that the provider refused a request for its length, and the window that it reported; 0: none.
func (l *learned) tooLong(estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told > 0 && l.now(maxWindow) != told {
		l.remember(maxWindow, told)
		return
	}
	if now, most := l.now(maxRequest), max(1, estimated*3/4); now == 0 || most < now {
		l.remember(maxRequest, most)
	}
}
