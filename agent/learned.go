package agent

import (
	"maps"
	"slices"
	"sync"
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
	most     int
	sees     bool // it took an image
	blind    bool // it takes none
	toolless bool // it takes no tools
	spoiled  spoiled
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
	if l.most > 0 && (room == 0 || l.most < room) {
		room = l.most
	}
	return room
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
	if l.most > 0 && estimated > l.most/2 {
		l.most += l.most/100 + 1
	}
}

// refused takes that the provider found a request too long.
func (l *learned) refused(estimated int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if most := max(1, estimated*3/4); l.most == 0 || most < l.most {
		l.most = most
	}
}

func (l *learned) takesNoImages() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blind
}

// learnBlind takes that a request was refused with its images and taken without, and says
// whether it is news that the model takes none. Where it took some before, these were at fault.
func (l *learned) learnBlind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := !l.blind && !l.sees
	l.blind = l.blind || news
	return news
}

func (l *learned) takesNoTools() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.toolless
}

// learnToolless takes that a request was refused with its tools and taken without, and says whether
// that is news.
func (l *learned) learnToolless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := !l.toolless
	l.toolless = true
	return news
}

// takesNot returns the tools for which requests are refused. The result is the caller's.
func (l *learned) takesNot() spoiled {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.spoiled)
}

// learnSpoiled takes that a request was taken without some tools, and returns the names of those of which that is news.
func (l *learned) learnSpoiled(s spoiled) (news []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, schema := range s {
		if known, ok := l.spoiled[name]; !ok || known != schema {
			news = append(news, name)
		}
	}
	if len(news) > 0 {
		l.spoiled = maps.Clone(s)
	}
	slices.Sort(news)
	return news
}
