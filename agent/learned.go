package agent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
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
	most       limit   // estimated tokens that a request may have since the provider refused more
	window     limit   // tokens that a request and its answer may have, as the provider says
	output     limit   // tokens of an answer, as the provider counts
	readImages bool    // it accepted an image
	refusals   map[string]refusal
}

// What a provider can refuse besides single tools; see toolKey.
const (
	allImages = "images"
	allTools  = "tools"
	// What is not the model's way, but that of one request.
	allCalls    = "calls"        // in the history; they are sent as text
	theseImages = "these images" // which can't be read, or are too large
)

// toolKey stands for one tool. A tool that gets another schema is another one: schemas are why tools are refused.
func toolKey(name string, schema []byte) string { return name + " " + string(schema) }

// leaveOut has the turn's requests to its model leave something out, since the provider refused it.
func (r *run) leaveOut(what string) {
	if r.leftOut == nil {
		r.leftOut = make(map[string]bool)
	}
	r.leftOut[what] = true
}

// leavesOut reports whether the turn's requests leave something out.
func (r *run) leavesOut(what string) bool { return r.leftOut[what] || r.model.learned.refuses(what) }

// learnRefusals remembers what the provider refused, once it has accepted the request without it.
func (r *run) learnRefusals(ctx context.Context) {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.leftOut)) {
		if what != allCalls && what != theseImages && r.model.learned.learn(what) {
			part, _, _ := strings.Cut(what, " ")
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the provider refuses a part of the requests, leaving it out for ten minutes", slog.Any("parts", parts))
	}
}

// refusalHolds is how long a refusal is remembered: the provider may be mended, or a router may choose another server.
const refusalHolds = 10 * time.Minute

// refusal is something that a provider refused. The zero value was never refused.
type refusal struct{ until time.Time }

func (r refusal) holds() bool { return time.Now().Before(r.until) }

// refuses reports whether the provider refuses something now.
func (l *learned) refuses(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusals[what].holds()
}

// learn remembers that the provider refused something and accepted the request without it. It reports whether that
// was never learned before. A provider that accepted images before refused these ones, not all.
func (l *learned) learn(what string) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (what != allImages || !l.readImages) && l.remember(what) == refusal{}
}

// report reports whether something is worth a line in the log: none was written a moment ago.
func (l *learned) report(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.remember("log " + what)
	return !before.holds()
}

// remember renews a refusal that does not hold, and returns the one before.
func (l *learned) remember(what string) (before refusal) {
	before = l.refusals[what]
	if !before.holds() {
		l.refusals[what] = refusal{until: time.Now().Add(refusalHolds)}
	}
	return before
}

// limit is a number that a provider refused to exceed.
type limit struct {
	refusal
	n int
}

func newLimit(n int) limit { return limit{refusal{until: time.Now().Add(refusalHolds)}, n} }

// now returns the limit that holds; 0: none.
func (l limit) now() int {
	if !l.holds() {
		return 0
	}
	return l.n
}

func newLearned() *learned { return &learned{factor: 1, refusals: make(map[string]refusal)} }

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
	room := l.fitting(window, output)
	l.mu.Lock()
	defer l.mu.Unlock()
	if most := l.most.now(); most > 0 && (room == 0 || most < room) {
		room = most
	}
	return room
}

// limited returns the smaller one of a window and the one that the provider reported.
func (l *learned) limited(window int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told := l.window.now(); told > 0 && (window == 0 || told < window) {
		return told
	}
	return window
}

// shrinkOutput limits answers to so many tokens for a while.
func (l *learned) shrinkOutput(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output = newLimit(n)
}

// maxOutput returns how many tokens an answer may have of so many that are configured; 0: no matter.
func (l *learned) maxOutput(configured int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.output.now(); n > 0 && n < configured {
		return n
	}
	return configured
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

// accepted learns from a request that the provider accepted and counted; 0: it reported no count. Requests with images
// don't change the factor: their tokens are a rough constant.
func (l *learned) accepted(r Request, estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readImages = l.readImages || hasImages(r.Messages)
	if told > 0 && estimated >= minLesson && !hasImages(r.Messages) {
		ratio := min(max(float64(told)/float64(estimated), minFactor), maxFactor)
		l.factor += factorShare * (ratio - l.factor)
	}
	// A refusal of an unusual text must not make the room small for good.
	if most := l.most.now(); most > 0 && estimated > most/2 {
		l.most.n += most/100 + 1
	}
}

// tooLong remembers that the provider refused a request for its length, and the window that it reported; 0: none.
func (l *learned) tooLong(estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told > 0 && l.window.now() != told {
		l.window = newLimit(told)
		return
	}
	if now, most := l.most.now(), max(1, estimated*3/4); now == 0 || most < now {
		l.most = newLimit(most)
	}
}
