package admin

import (
	"fmt"
	"math"
	"time"
)

// Status contains the data that the status page shows.
type Status struct {
	Version       string
	Started       time.Time
	Readiness     Readiness
	Endpoints     []EndpointStatus
	Replicas      []Replica // the daemons that share the store, oldest first; empty if the store can't be shared
	Replies       []Reply   // replies that grow or are being delivered, and conversations in which messages wait
	Problems      []Problem
	Days          []Day // the newest day last
	Conversations []Conversation
	Kept          int // number of all stored conversations, while Conversations contains only the newest
}

// EndpointStatus is the state of an endpoint and its rate limits.
type EndpointStatus struct {
	Endpoint
	Network string
	Since   time.Time // when the endpoint entered this state; zero: unknown
	Waiting int       // number of calls that wait for the rate limits
	Limits  []Limit
	Blocks  []Block
}

// Replica is a daemon that shares the store.
type Replica struct {
	ID            int64
	Name, Version string
	Self          bool // the replica is this daemon, which shows the page
	Leaving       bool // the replica is stopping
	Chats         int  // number of chats that the replica owns
	Receives      []string
}

// Limit is how much of a rate limit is used.
type Limit struct {
	What      string // such as "calls per second"
	Used, Max int
}

// Block says until when the platform refuses calls in a scope.
type Block struct {
	What  string
	Until time.Time
}

// Reply is the state of the running reply and of the waiting messages of one conversation.
type Reply struct {
	Conversation   string
	Turn           string // short id of the turn, as people see it; empty: no reply is in progress
	Began          time.Time
	Length         int    // length of the text so far, in characters
	Visible        int    // number of characters that people see
	Text           string // the text; empty if the page must not show it
	Complete       bool   // the model writes nothing more for this reply
	Waits          string // why the reply has to wait, in words; empty: it does not wait
	Until          time.Time
	Queued, Parked int // number of messages that wait for their turn; number of replies that are delivered in the background
}

// Day is the usage of one day.
type Day struct {
	Date               time.Time // the midnight at which the day begins, in the machine's time zone
	Prompt, Completion int       // numbers of tokens
}

// Conversation is what the store contains about a conversation.
type Conversation struct {
	Name     string
	Newest   time.Time
	Messages int
	Tokens   int
}

// These constants are sizes in the plot of the tokens per day, in the units of its SVG.
const (
	plotWidth, plotHeight = 700, 160
	plotGap               = 8
)

// bar represents one day in the plot of the tokens per day.
type bar struct {
	Day
	X, Width              int
	PromptY, PromptHeight int
	AnswerY, AnswerHeight int
	Label                 string // label below the bar; empty: no label
	Middle                int
}

// plot is the plot of the tokens per day, with the coordinates of all bars.
type plot struct {
	Bars          []bar
	Width, Height int
	Top           int // number of tokens that corresponds to the upper edge
	Total         int
}

// newPlot computes the coordinates of the plot.
func newPlot(days []Day) plot {
	p := plot{Width: plotWidth, Height: plotHeight}
	for _, d := range days {
		p.Top, p.Total = max(p.Top, d.Prompt+d.Completion), p.Total+d.Prompt+d.Completion
	}
	if p.Total == 0 {
		return plot{}
	}
	p.Top = roundUp(p.Top)
	scale := func(tokens int) int { return int(math.Round(float64(tokens) / float64(p.Top) * plotHeight)) }
	step := plotWidth / len(days)
	for i, d := range days {
		b := bar{Day: d, X: i*step + plotGap/2, Width: step - plotGap, PromptHeight: scale(d.Prompt), AnswerHeight: scale(d.Completion)}
		b.PromptY = plotHeight - b.PromptHeight
		b.AnswerY = b.PromptY - b.AnswerHeight
		b.Middle = b.X + b.Width/2
		if (len(days)-1-i)%2 == 0 { // every second day has a label, and so has the newest day
			b.Label = d.Date.Format("2 Jan")
		}
		p.Bars = append(p.Bars, b)
	}
	return p
}

// roundUp returns the smallest number that is at least n and consists of the digit 1, 2 or 5, followed only by zeros.
func roundUp(n int) int {
	for unit := 1; ; unit *= 10 {
		for _, f := range []int{1, 2, 5} {
			if f*unit >= n {
				return f * unit
			}
		}
	}
}

// short formats a number with at most four characters and a unit, such as k for thousands.
func short(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000 && n%1000 >= 50:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1e3)
	case n < 10_000_000 && n%1_000_000 >= 50_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	default:
		return fmt.Sprintf("%dM", n/1e6)
	}
}

// span formats a duration as people write it.
func span(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}
