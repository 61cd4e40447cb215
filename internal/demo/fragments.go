package demo

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"telex/standin/discord"
)

// maxMessages is the maximum number of messages that the page shows of each place.
const maxMessages = 30

// newColumns returns the columns in the order in which the page shows them.
func (d *demo) newColumns() []*column {
	return []*column{
		{Key: "telegram", Name: "Telegram", How: "edits one message", place: telegramPlace{d.telegram}},
		{Key: "discord", Name: "Discord", How: "edits one message", place: discordPlace{d.discord, d.discord.DM(discord.DefaultPerson), discordMarkdown()}},
		{Key: "slack", Name: "Slack", How: "edits one message", place: slackPlace{d.slack, slackMarkdown(), mrkdwn()}},
		{Key: "whatsapp", Name: "WhatsApp", How: "can't edit: sends the end", place: whatsappPlace{d.whatsapp, whatsappMarkup()}},
		{Key: "api", Name: "API", How: "streams each token", place: d.program},
	}
}

// fragment is a changing part of the page.
type fragment struct {
	ID string `json:"id"`
	// In is the id of the HTML list that contains this fragment. After is the id of the fragment before this one in the
	// same list. After is empty for the first fragment.
	In    string `json:"in,omitempty"`
	After string `json:"after,omitempty"`
	HTML  string `json:"html"`
}

// messageView is the data for the template of a message.
type messageView struct {
	message
	DOM, Column string
	First       bool // somebody else wrote the message above this message
	Bot         string
}

// columnView is the changing part of a column, without its messages.
type columnView struct {
	*column
	figures

	State    string // idle, asked, writing, asks or complete
	Activity string
	Blocked  time.Duration // how long the platform still refuses calls; 0: it accepts calls
	Waiting  int           // number of calls that wait in the daemon because of the place's limit
	Storm    time.Duration
	Outage   time.Duration
}

// score contains figures that show whether telex keeps its promises, such as the numbers of complete answers and of
// visible cursors.
type score struct {
	Asked, Complete, Open, Cursors, Violations, Refused, Kills int
}

// state is everything that the page shows.
type state struct {
	Columns []columnView
	Daemon  daemonView
	Gates   [2]gateCounts
	Model   string // name of the first model
	Light   string
	Actions int // number of calls of Home Assistant's light services so far
	Score   score
	Latency time.Duration

	messages map[string][]messageView // the key is the name of a column
}

// look returns the current state.
func (d *demo) look(now time.Time) state {
	s := state{Daemon: d.daemon.view(), messages: make(map[string][]messageView), Model: d.o.Model.Name}
	for i, g := range d.gates {
		s.Gates[i] = g.now()
	}
	for _, e := range d.house.States() {
		if e.Entity == "light.kitchen" {
			s.Light = e.State
		}
	}
	for method, n := range d.house.Stats().ByMethod {
		if strings.HasPrefix(method, "light.") {
			s.Actions += n
		}
	}
	s.Score.Kills = s.Daemon.Kills
	d.mu.Lock()
	s.Score.Asked = d.asked
	d.mu.Unlock()
	for _, c := range d.columns {
		seen := c.screen(now)
		v := columnView{column: c, figures: c.figures(now), Activity: seen.Activity}
		t := c.troubled()
		s.Latency = max(s.Latency, t.Latency)
		v.Storm, v.Outage = max(0, t.Storm.Sub(now)), max(0, t.Outage.Sub(now))
		daemon := s.Daemon.endpoint(c.Key)
		v.Waiting, v.Blocked = daemon.Waiting, max(0, v.figures.Blocked.Sub(now))
		for _, b := range daemon.Blocks {
			v.Blocked = max(v.Blocked, b.Until.Sub(now))
		}
		s.messages[c.Key] = viewMessages(c, seen.Messages)
		v.State = stateOf(seen.Messages)
		if v.State == "complete" && v.Waiting > 0 { // the bot still has to send a further message of the answer
			v.State = "writing"
		}
		s.Score.add(v, seen.Messages)
		s.Columns = append(s.Columns, v)
	}
	return s
}

// stateOf returns the state of the newest answer. stateOf ignores messages in which a person wrote a command.
func stateOf(list []message) string {
	for _, m := range slices.Backward(list) {
		switch {
		case m.Mine && strings.HasPrefix(m.Plain, "/"):
		case m.Mine:
			return "asked"
		case m.Growing:
			return "writing"
		case len(m.Buttons) > 0:
			return "asks"
		default:
			return "complete"
		}
	}
	return "idle"
}

// add adds the figures of a column to the score. The parameter list contains the column's messages.
func (s *score) add(v columnView, list []message) {
	s.Violations += v.Violations
	s.Refused += v.Refused
	for i, m := range list {
		if m.Growing && i < len(list)-1 {
			s.Cursors++ // only the last message may still grow, so a cursor in an earlier message is a mistake
		}
		if !m.Mine && (i == len(list)-1 || list[i+1].Mine) { // this is the last message of an answer
			s.Complete++
		}
	}
	switch v.State {
	case "asked":
		s.Open++
	case "writing", "asks":
		s.Open++
		s.Complete-- // the loop has already counted this answer
	}
}

func viewMessages(c *column, list []message) []messageView {
	list = list[max(0, len(list)-maxMessages):]
	views := make([]messageView, len(list))
	for i, m := range list {
		views[i] = messageView{
			message: m, DOM: "m-" + c.Key + "-" + m.ID, Column: c.Key, First: i == 0 || list[i-1].Mine != m.Mine,
		}
		views[i].Body = withCursor(m.Body)
	}
	return views
}

// withCursor puts the cursor of a growing message into an HTML element of its own, so that the style can make it blink.
func withCursor(body template.HTML) template.HTML {
	i := strings.LastIndex(string(body), cursor)
	if i < 0 {
		return body
	}
	return body[:i] + `<span class="cursor">` + cursor + `</span>` + body[i+len(cursor):]
}

// fragments renders all changing parts of the page.
func (p *page) fragments(s state) ([]fragment, error) {
	var list []fragment
	var err error
	add := func(f fragment, name string, data any) {
		var out bytes.Buffer
		if e := p.templates.ExecuteTemplate(&out, name, data); e != nil && err == nil {
			err = fmt.Errorf("draw %s: %w", f.ID, e)
		}
		f.HTML = strings.TrimSpace(out.String())
		list = append(list, f)
	}
	for _, c := range s.Columns {
		add(fragment{ID: "state-" + c.Key}, "state", c)
		add(fragment{ID: "limit-" + c.Key}, "limit", c)
		after := ""
		for _, m := range s.messages[c.Key] {
			add(fragment{ID: m.DOM, In: "list-" + c.Key, After: after}, "message", m)
			after = m.DOM
		}
	}
	for _, name := range []string{"daemon", "models", "house", "score", "said"} {
		add(fragment{ID: name}, name, s)
	}
	return list, err
}
