package agent

import (
	"slices"
	"sync"
	"time"
)

// What is made of the usage that a provider tells.
const (
	minFactor   = 0.5 // what lies further off says that the usage is wrong, not the estimate
	maxFactor   = 3.0
	factorShare = 0.25 // of the newest usage in the factor
	minLesson   = 64   // estimated tokens; what surrounds shorter requests weighs too much in them
)

// learned is what turns found out about one model. It is safe for concurrent use.
type learned struct {
	mu     sync.Mutex
	factor float64 // tokens as the provider counts for each estimated one
	// most is how many estimated tokens a request may have since the provider refused more;
	// 0: none was refused.
	most     limit
	window   limit // tokens that a request and its answer may have, as the provider says
	sees     bool  // it took an image
	output   limit // tokens of an answer, of the provider's count
	blind    lesson
	toolless lesson
	spoiled  map[string]refusedTool // by name
	reported map[string]lesson      // what was said in the log a moment ago
}

// lessonHolds is how long it is remembered that a provider refused something: it may be mended, or have been a router's
// choice of server.
const lessonHolds = 10 * time.Minute

// lesson is something that a provider refused.
type lesson struct {
	until time.Time
	known bool // it was learned before, and said in the log
}

func (l lesson) holds() bool { return time.Now().Before(l.until) }

// learn remembers it, and says whether it was never learned before.
func (l *lesson) learn() (news bool) {
	news = !l.known
	*l = lesson{until: time.Now().Add(lessonHolds), known: true}
	return news
}

// limit is a number that a provider refused to exceed.
type limit struct {
	lesson
	n int
}

// now returns the limit that holds; 0: none.
func (l limit) now() int {
	if !l.holds() {
		return 0
	}
	return l.n
}

// refusedTool is a tool that a provider refuses for its schema.
type refusedTool struct {
	lesson
	schema string
}

func newLearned() *learned { return &learned{factor: 1} }

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

// limited returns a window, or what the provider said that it is, where that is less.
func (l *learned) limited(window int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told := l.window.now(); told > 0 && (window == 0 || told < window) {
		return told
	}
	return window
}

// shrinkOutput takes that an answer should have at most so many tokens for a while.
func (l *learned) shrinkOutput(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output.n = n
	l.output.learn()
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

// report says whether something is worth a line in the log: it was not reported a moment ago.
func (l *learned) report(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reported[what].holds() {
		return false
	}
	if l.reported == nil {
		l.reported = make(map[string]lesson)
	}
	said := l.reported[what]
	said.learn()
	l.reported[what] = said
	return true
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

// accepted takes what the provider counted for a request; 0: it did not tell. Images are an
// estimate of another kind and teach nothing.
func (l *learned) accepted(r Request, estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sees = l.sees || hasImages(r.Messages)
	if told > 0 && estimated >= minLesson && !hasImages(r.Messages) {
		ratio := min(max(float64(told)/float64(estimated), minFactor), maxFactor)
		l.factor += factorShare * (ratio - l.factor)
	}
	// A refusal of an unusual text must not make the room small for good.
	if most := l.most.now(); most > 0 && estimated > most/2 {
		l.most.n += most/100 + 1
	}
}

// refused takes that the provider found a request too long, and how many tokens it said that fit; 0: it did not say.
func (l *learned) refused(estimated, told int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if told > 0 && l.window.now() != told {
		l.window.n = told
		l.window.learn()
		return
	}
	if now, most := l.most.now(), max(1, estimated*3/4); now == 0 || most < now {
		l.most.n = most
		l.most.learn()
	}
}

func (l *learned) takesNoImages() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blind.holds()
}

// learnBlind takes that a request was refused with its images and taken without, and says
// whether it is news that the model takes none. Where it took some before, these were at fault.
func (l *learned) learnBlind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.sees && !l.blind.holds() && l.blind.learn()
}

func (l *learned) takesNoTools() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.toolless.holds()
}

// learnToolless takes that a request was refused with its tools and taken without, and says whether
// that is news.
func (l *learned) learnToolless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.toolless.holds() && l.toolless.learn()
}

// takesNot returns the tools for which requests are refused. The result is the caller's.
func (l *learned) takesNot() spoiled {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out spoiled
	for name, t := range l.spoiled {
		if t.holds() {
			if out == nil {
				out = make(spoiled)
			}
			out[name] = t.schema
		}
	}
	return out
}

// learnSpoiled takes that a request was taken without some tools, and returns the names of those of which that is news.
func (l *learned) learnSpoiled(s spoiled) (news []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, schema := range s {
		known := l.spoiled[name]
		switch {
		case known.schema == schema && known.holds():
			continue // it was not even offered
		case known.schema != schema:
			known = refusedTool{schema: schema}
		}
		if known.learn() {
			news = append(news, name)
		}
		if l.spoiled == nil {
			l.spoiled = make(map[string]refusedTool)
		}
		l.spoiled[name] = known
	}
	slices.Sort(news)
	return news
}
