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

// cursor is telex's default cursor, which the demo's configuration does not change.
const cursor = "▌"

// question is what a person sends.
type question struct {
	Text string
	File *attachment // nil: no file
}

// attachment is a file that a person sends.
type attachment struct {
	Name, Mime string
	Content    []byte
}

func (a *attachment) isImage() bool { return strings.HasPrefix(a.Mime, "image/") }

// message is one message in the form in which a client shows it.
type message struct {
	ID      string
	Mine    bool // a person wrote the message
	At      time.Time
	Edits   int
	Edited  string // the text with which the client marks an edited message; empty: no mark
	Quote   string // beginning of the message to which this message replies
	Body    template.HTML
	Files   []file
	Buttons []button
	Ticks   string // delivery state, WhatsApp only: sent, delivered or read
	Growing bool   // the message's text ends with the cursor
	Plain   string // the message's text for screen readers
}

type button struct{ ID, Label, Style string }

// file is a file below a message.
type file struct {
	ID, Name string
	Image    bool
	Size     int
}

// screen is everything that a person sees in a place.
type screen struct {
	Messages []message
	Activity string // such as "typing…"
}

// figures describe how much of a place's rate limit is used, according to the calls that its stand-in recorded.
type figures struct {
	Limit       string // description of the limit in words
	Used, Max   int
	Calls       int // number of calls of methods that change what people see, including refused calls
	Refused     int // number of calls that the platform refused with 429
	Blocked     time.Time
	Violations  int
	Edits, Sent int
}

// place is where a person talks to the bot: a chat on a platform, or the program that uses the API server.
type place interface {
	screen(now time.Time) screen
	say(q question) error
	press(message, button string) error
	figures(now time.Time) figures
	file(id string) (mime string, content []byte, err error)
	disturb(d disturbance)
}

// column is a column of the page, which shows one place.
type column struct {
	place
	Key, Name string
	How       string // how this place shows an answer, in words

	mu       sync.Mutex
	troubles disturbance
}

// disturbance describes the faults that a person has switched on for a place of the demo.
type disturbance struct {
	Latency       time.Duration // added to Options.Latency
	Storm, Outage time.Time     // until when calls are refused with 429, and until when the outage lasts
}

// These constants say how long a fault lasts.
const (
	stormTime  = 15 * time.Second
	outageTime = 10 * time.Second
)

// trouble changes the faults of the column's place.
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

// faulty contains the methods that control the faults of a stand-in. All stand-ins of platforms implement faulty.
type faulty[C any] interface {
	ClearFaults()
	Fault(f fault.Fault[C]) int
	Outage(o fault.Outage)
}

// disturb replaces the faults of a stand-in. The parameter visible lists the methods that change what people see. If several
// faults match a call, the stand-in uses the fault that was added first. disturb therefore first adds the fault that matches
// fewer calls.
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

// budget describes the rate limit of a platform for the page.
type budget struct {
	visible []string // methods that change what people see
	counted []string // those methods in the field visible that the limit counts
	window  time.Duration
	max     int
	what    string
}

// read counts the calls that use the limit in its time window, and separately all calls of the methods in the field visible.
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

// heads returns those fields of each call that the calls of all stand-ins have in common.
func heads[C any](calls []C, head func(C) rig.Call) []rig.Call {
	out := make([]rig.Call, len(calls))
	for i, c := range calls {
		out[i] = head(c)
	}
	return out
}

// growing reports whether a text ends with the cursor.
func growing(text string) bool { return strings.HasSuffix(strings.TrimSpace(text), cursor) }

// brief shortens the text of a quoted message.
func brief(text string) string {
	words := []rune(strings.Join(strings.Fields(strings.ReplaceAll(text, "```", "")), " "))
	if len(words) > 60 {
		return string(words[:59]) + "…"
	}
	return string(words)
}

// none returns an error that says that something, such as a button, does not exist or no longer exists.
func none(what, id string) error {
	return fmt.Errorf("there is no %s %q here", what, cmp.Or(id, "without a name"))
}

var errRefused = errors.New("the platform does not take this")
