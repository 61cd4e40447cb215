package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"telex/internal/outside"
	"telex/standin/openai"
)

// talk contains the questions of one person in one chat, and the expected answers.
type talk struct {
	place  place
	number int
	random *rand.Rand
	long   bool // one of the questions has an answer of several messages
	asked  []asked
}

// asked is one question that a person has asked.
type asked struct {
	mark string // a word that only the question and its answer contain
	want string
	at   time.Time
}

const (
	talkRate = 25 // words per second
	// inARow is how often a person asks a second question immediately after the first one, as a fraction of all
	// questions. telex must answer the first question before the second one.
	inARow = 0.15
)

// newTalk prepares the questions of one person in one chat. If one of the questions has a long answer, newTalk configures this
// answer in the stand-in of the model. A short answer is part of its question, so the stand-in needs no preparation.
func newTalk(p place, number int, random *rand.Rand, model *openai.Server) (*talk, error) {
	t := &talk{place: p, number: number, random: random, long: p.name() == "telegram" && number%5 == 0}
	if !t.long {
		return t, nil
	}
	mark := t.mark(1)
	return t, model.Rule(openai.Rule{Match: mark, Do: fmt.Sprintf("rate=150 say=%q", counting(mark, 1000))}) // an answer of 4,900 characters
}

// mark returns a word that identifies the n-th question, such as A12x3z.
func (t *talk) mark(n int) string { return fmt.Sprintf("A%dx%dz", t.number, n) }

// counting returns an answer that counts up from 1, so that missing and repeated parts are easy to see.
func counting(mark string, words int) string {
	var b strings.Builder
	b.WriteString("Answer " + mark + " begins:")
	for i := 1; i <= words; i++ {
		fmt.Fprintf(&b, " %d", i)
	}
	return b.String() + " and ends. (" + mark + ")"
}

// run lets the person write until ctx ends. The parameter think is the average pause between two questions.
func (t *talk) run(ctx context.Context, think time.Duration) error {
	if t.place.name() == "slack" {
		think *= 3
	}
	pause := upTo(t.random, think) // wait for a random time, so that not all people begin at the same time
	for outside.Pause(ctx, pause) == nil {
		if err := t.ask(); err != nil {
			return err
		}
		pause = think/2 + upTo(t.random, think)
		if t.random.Float64() < inARow {
			pause = upTo(t.random, 3*time.Second)
		}
	}
	return nil
}

func (t *talk) ask() error {
	q := asked{mark: t.mark(len(t.asked)), at: time.Now()}
	text := "Count: " + q.mark
	if q.want = counting(q.mark, 1000); !t.long || len(t.asked) != 1 {
		q.want = counting(q.mark, 50+t.random.IntN(200))
		text = fmt.Sprintf("{{standin rate=%d jitter=0.3}} say: %s", talkRate, q.want)
	}
	t.asked = append(t.asked, q)
	return t.place.say(text)
}

// complete reports whether the last answer is visible and no message ends with a cursor.
func (t *talk) complete() bool {
	if len(t.asked) == 0 {
		return true
	}
	posts := t.place.posts()
	for _, p := range posts {
		if strings.HasSuffix(p.text(), cursor) {
			return false
		}
	}
	return !t.judge(posts).bad()
}

// judge compares the visible messages in a chat with the expected answers. Each answer must be visible once, completely, and in
// the order of the questions. Any other visible text is a mistake.
func (t *talk) judge(posts []post) talkVerdict {
	var v talkVerdict
	var texts []string
	for _, p := range posts {
		text, growing := strings.CutSuffix(p.text(), cursor)
		if growing {
			v.Cursors++
		}
		texts = append(texts, text)
	}
	all := flat(strings.Join(texts, " "))
	rest := all
	var places []int
	for _, q := range t.asked {
		at := strings.Index(all, q.want)
		places = append(places, at)
		begun := strings.Count(all, "Answer "+q.mark+" ")
		switch {
		case at < 0:
			v.Lost++
			v.note("%s is not complete", q.mark)
		case begun > 1:
			v.Doubled++
			v.note("%s begins %d times", q.mark, begun)
		}
		rest = strings.Replace(rest, q.want, "", 1)
	}
	for _, what := range t.disordered(places) {
		v.Disordered++
		v.note("%s", what)
	}
	if rest = flat(rest); rest != "" && v.Lost+v.Doubled == 0 {
		v.Other++
		v.note("beside the answers: %s", clip(rest))
	}
	if v.bad() {
		v.note("%s, chat %d shows:", t.place.name(), t.number)
		for _, p := range posts[max(0, len(posts)-4):] {
			v.note("  %s: %s", p.id, clip(p.text()))
		}
	}
	return v
}

// talkVerdict counts the mistakes in one or more chats.
type talkVerdict struct {
	Lost       int    `json:"lost"`       // answers that are not completely visible
	Doubled    int    `json:"doubled"`    // answers of which a part is visible twice
	Cursors    int    `json:"cursors"`    // messages that end with a cursor
	Disordered int    `json:"disordered"` // answers that are above the answer to an earlier question
	Limits     int    `json:"limits"`     // calls beyond the published limits, or made before the wait after a 429 was over
	Other      int    `json:"other"`      // other text, daemons that ended by themselves, and unfinished work in the store
	What       string `json:"what,omitempty"`
}

func (v talkVerdict) bad() bool {
	return v.Lost+v.Doubled+v.Cursors+v.Disordered+v.Limits+v.Other > 0
}

func (v *talkVerdict) note(format string, args ...any) { v.What += fmt.Sprintf(format, args...) + "\n" }

func (v *talkVerdict) add(w talkVerdict) {
	v.Lost += w.Lost
	v.Doubled += w.Doubled
	v.Cursors += w.Cursors
	v.Disordered += w.Disordered
	v.Limits += w.Limits
	v.Other += w.Other
	v.What += w.What
}
