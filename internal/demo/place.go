package demo

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// cursor is the built-in cursor, which the demo leaves as it is.
const cursor = "▌"

// question is what a person sends.
type question struct {
	Text string
	File *attachment // nil: none
}

// attachment is a file of a person.
type attachment struct {
	Name, Mime string
	Content    []byte
}

func (a *attachment) isImage() bool { return strings.HasPrefix(a.Mime, "image/") }

// message is one message as a client draws it.
type message struct {
	ID      string
	Mine    bool // of the person
	At      time.Time
	Edits   int
	Edited  string // how the client marks it; empty: it does not
	Quote   string // of what it answers
	Body    template.HTML
	Files   []file
	Buttons []button
	Ticks   string // WhatsApp: sent, delivered or read
	Growing bool   // it ends with the cursor
	Plain   string // what stands in it, for people who listen
}

type button struct{ ID, Label, Style string }

// file is one below a message.
type file struct {
	ID, Name string
	Image    bool
	Size     int
}

// screen is what a person sees of a place.
type screen struct {
	Messages []message
	Activity string // such as "typing…"
}

// figures say how a place's limit is used, as its stand-in counts.
type figures struct {
	Limit       string // in words
	Used, Max   int
	Calls       int // that change what people see, in all
	Refused     int // with 429
	Blocked     time.Time
	Violations  int
	Edits, Sent int
}

// place is where a person talks to the bot.
type place interface {
	screen(now time.Time) screen
	say(q question) error
	press(message, button string) error
	figures(now time.Time) figures
	file(id string) (mime string, content []byte, err error)
	disturb(d disturbance)
}

// column is a place on the page.
type column struct {
	place
	Key, Name string
	How       string // how an answer appears here

	mu       sync.Mutex
	troubles disturbance
}

// disturbance is what goes wrong at a place.
type disturbance struct {
	Latency       time.Duration // on top of the usual
	Storm, Outage time.Time     // until when
}

// How long what is switched on lasts.
const (
	stormTime  = 15 * time.Second
	outageTime = 10 * time.Second
)

// trouble changes what goes wrong, and lets the place know.
func (c *column) trouble(now time.Time, change func(*disturbance)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.troubles)
	c.disturb(c.troubles)
}

func (c *column) troubled() disturbance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.troubles
}

// faulty is what all stand-ins have.
type faulty[C any] interface {
	ClearFaults()
	Fault(f fault.Fault[C]) int
	Outage(o fault.Outage)
}

// disturb replaces the faults of a stand-in; visible are the methods that change what people see. The first of several
// faults wins, so the rarer one goes first.
func disturb[C any](s faulty[C], visible []string, limited fault.Fault[C], d disturbance) {
	s.ClearFaults()
	if left := time.Until(d.Storm); left > 0 {
		limited.Method, limited.Every, limited.For = strings.Join(visible, "|"), 2, left
		limited.Action, limited.RetryAfter = fault.RateLimit, 2
		s.Fault(limited)
	}
	if d.Latency > 0 {
		s.Fault(fault.Fault[C]{Method: strings.Join(visible, "|"), Action: fault.Latency, Delay: d.Latency})
	}
	if left := time.Until(d.Outage); left > 0 {
		s.Outage(fault.Outage{Kind: fault.OutageRefuse, For: left})
	}
}

// budget is a platform limit.
type budget struct {
	visible []string // the calls that show something
	counted []string // those among them that the limit is about
	window  time.Duration
	max     int
	what    string
}

// read counts calls; head returns what all calls have.
func (b budget) read(calls []rig.Call, now time.Time) figures {
	f := figures{Limit: b.what, Max: b.max}
	for _, c := range calls {
		if !slices.Contains(b.visible, c.Method) {
			continue
		}
		f.Calls++
		if c.Status == http.StatusTooManyRequests {
			f.Refused++
			if until := c.Done.Add(time.Duration(c.RetryAfter * float64(time.Second))); until.After(f.Blocked) && until.After(now) {
				f.Blocked = until
			}
		}
		if slices.Contains(b.counted, c.Method) && c.Status != http.StatusTooManyRequests && now.Sub(c.At) < b.window {
			f.Used++
		}
	}
	return f
}

// heads returns what all calls have.
func heads[C any](calls []C, head func(C) rig.Call) []rig.Call {
	out := make([]rig.Call, len(calls))
	for i, c := range calls {
		out[i] = head(c)
	}
	return out
}

// growing reports whether a text is a preview.
func growing(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), cursor) }

// brief shortens what a message answers.
func brief(text string) string {
	words := []rune(strings.Join(strings.Fields(strings.ReplaceAll(text, "```", "")), " "))
	if len(words) > 60 {
		return string(words[:59]) + "…"
	}
	return string(words)
}

// none is the error of what does not exist (any more).
func none(what, id string) error {
	return fmt.Errorf("there is no %s %q here", what, cmp.Or(id, "without a name"))
}

var errRefused = errors.New("the platform does not take this")
