package sim

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"telex/agent"
	"telex/internal/chat"
)

// question is a question for approval: it asks people whether the bot may make a tool call.
type question struct {
	id, key, call string
	turn          *turnLog
	tool          string
	filed         time.Time
	filedIn       *life
	seen          time.Time // when a person first saw the question
	seenIn        *life     // the newest process that has shown the question to a person
	ruled         time.Time // when the decision was stored; zero: nobody has decided
	verdict       agent.Verdict
	revised       int // how often an edit had restarted the question's turn when the question was stored
}

// over reports whether the question is obsolete, because a person edited the message that the turn answers and the turn
// restarted.
func (q *question) over() bool { return q.revised < q.turn.revised }

// reaction tells what a person does after seeing a question for approval.
type reaction struct {
	kind  string
	after time.Duration
	who   chat.UserID // who reacts; empty: the asker
	again time.Duration
}

// admin is a person who may decide all questions for approval, and who writes nothing but decisions.
const admin chat.UserID = "root"

// What people do after seeing a question for approval. With doOld, the person presses a button of an earlier question
// that the person has seen.
const (
	doApprove = "approve"
	doAlways  = "always"
	doDeny    = "deny"
	doOld     = "old"
)

// drawReactions chooses at random how people react to the first questions, and how they react to all later questions.
func (s *schedule) drawReactions(t *rapid.T) {
	s.approval = rapid.OneOf(span2(1000, 60_000), span2(1000, 600_000)).Draw(t, "approval")
	s.recount = rapid.Bool().Draw(t, "recount")
	s.kind.caps.Buttons = rapid.Bool().Draw(t, "buttons")
	s.stopButton = rapid.Bool().Draw(t, "stop button")
	s.config.Progress = rapid.Bool().Draw(t, "progress")
	if rapid.IntRange(0, 2).Draw(t, "goes on") > 0 {
		s.goesOn = doApprove
	}
	for range rapid.IntRange(0, 10).Draw(t, "reactions") {
		r := reaction{
			kind: rapid.SampledFrom([]string{
				doApprove, doApprove, doApprove, doApprove, doAlways, doDeny, doOld, "yes", "yes", "no", "/approve", "/approve", "/deny",
				"/approve id", "/deny id", "/approve always", "text", "stop", "new", "undo", "retry", "forget", "", "",
			}).Draw(t, "does"),
			after: rapid.OneOf(span2(0, 3000), span2(0, 3000), span2(0, 90_000)).Draw(t, "thinks"),
			who:   rapid.SampledFrom([]chat.UserID{"", "", "", "", "", "ann", "ben", admin}).Draw(t, "who"),
		}
		if rapid.IntRange(0, 3).Draw(t, "twice") == 0 {
			r.again = rapid.OneOf(span2(0, 1000), span2(0, 20_000)).Draw(t, "apart")
		}
		s.reactions = append(s.reactions, r)
	}
}

// These patterns match the text of a question for approval in a message.
var (
	questionMark = "May I?"
	questionID   = regexp.MustCompile(`/approve ([a-z0-9]{5})\b`)
)

// asksFor returns the id of the question for approval that a message shows, or "" if the message shows no question.
func asksFor(m chat.Outgoing) string {
	for _, b := range m.Actions {
		if id, ok := strings.CutPrefix(b.ID, "approve:"); ok {
			return id
		}
	}
	if found := questionID.FindStringSubmatch(m.Text); found != nil {
		return found[1]
	}
	return ""
}

// apart reports whether a key belongs to a message that shows a question separately from the reply.
func apart(key string) bool { return strings.Contains(key, ".q") }

// noteSteps records the steps that the gateway stores in a turn's journal, and checks the questions and decisions among
// them.
func (k *keeper) noteSteps(turn string, steps []chat.Step) {
	w := k.l.w
	t := w.turns[turn]
	for _, s := range steps {
		switch s.Kind {
		case chat.StepSaid:
			var m agent.Message
			if err := json.Unmarshal(s.Body, &m); err != nil {
				w.complain("a step of turn %s: %v", turn, err)
			}
			if len(m.ToolCalls) > 0 {
				t.steps++
			}
		case chat.StepAsked:
			w.noteAsked(k.l, t, s)
		case chat.StepDecided:
			w.noteDecided(t, s)
		case chat.StepStopped:
			w.noteCutOff(t, s.Call)
		case chat.StepBegun, chat.StepReads, chat.StepAnswered:
		}
	}
}

func (w *world) noteAsked(l *life, t *turnLog, s chat.Step) {
	var p struct{ ID, Tool, Text string }
	if err := json.Unmarshal(s.Body, &p); err != nil {
		w.complain("a proposal of turn %s: %v", t.id, err)
	}
	q := &question{id: p.ID, key: deedName.FindString(p.Text), call: s.Call, turn: t, tool: p.Tool, filed: time.Now(), filedIn: l, revised: t.revised}
	if w.deeds[q.key] == nil {
		w.complain("people are asked about %q, which no model called", p.Text)
		return
	}
	for _, old := range w.questions {
		if old.key == q.key {
			w.complain("people are asked twice about %s", q.key)
		}
	}
	t.asks = true
	w.questions = append(w.questions, q)
	w.note("question %s about %s is stored", q.id, q.key)
	w.counts.add("questions", 1)
}

// awaits reports whether a turn waits for a person's decision. While a turn waits, its question must be shown at once,
// so Config.Interval does not apply.
func (w *world) awaits(t *turnLog) bool {
	return slices.ContainsFunc(w.questions, func(q *question) bool { return q.turn == t && (q.ruled.IsZero() || q.ruled.Equal(time.Now())) })
}

// noteDecided checks that a person with the right to decide made the decision about a question, or that the time limit
// of the question had ended.
func (w *world) noteDecided(t *turnLog, s chat.Step) {
	var r struct{ Verdict agent.Verdict }
	if err := json.Unmarshal(s.Body, &r); err != nil {
		w.complain("a decision of turn %s: %v", t.id, err)
	}
	i := slices.IndexFunc(w.questions, func(q *question) bool {
		return q.turn == t && q.call == s.Call && q.ruled.IsZero() && !q.over()
	})
	if i < 0 {
		w.complain("something is decided in turn %s, and nothing was asked", t.id)
		return
	}
	q := w.questions[i]
	q.ruled, q.verdict = time.Now(), r.Verdict
	w.note("question %s is decided: %d", q.id, r.Verdict)
	switch r.Verdict {
	case agent.TimedOut:
		w.counts.add("questions: nobody decided in time", 1)
		if time.Since(q.filed) < w.s.approval {
			w.complain("question %s timed out after %v", q.id, time.Since(q.filed))
		}
	case agent.Approved:
		w.counts.add("questions: approved", 1)
		if w.decider(q, agent.Approved) == nil && !w.hasStandingApproval(t, w.deeds[q.key].tool) {
			// If the chat got a new id, the standing approval may have been given in another turn.
			w.complain("question %s was approved by nobody who may", q.id)
		}
	default:
		w.counts.add("questions: denied", 1)
		if w.decider(q, agent.Denied) == nil {
			w.complain("question %s was denied by nobody who may", q.id)
		}
	}
}

// decider returns the message with which a person made decision v about question q, or nil.
func (w *world) decider(q *question, v agent.Verdict) *written {
	for _, m := range w.messages {
		if w.decides(m, q, v) {
			return m
		}
	}
	return nil
}

// decides reports whether message m makes decision v about question q, and was accepted in time from a person who may
// decide.
func (w *world) decides(m *written, q *question, v agent.Verdict) bool {
	if m.decides != v+1 || m.accepted.IsZero() || m.place != q.turn.place || m.accepted.Before(q.filed) {
		return false
	}
	if m.about != "" && m.about != q.id {
		return false
	}
	if !w.inTime(m, q) || w.blind(m, q) {
		return false
	}
	asker := m.user == w.asker(q.turn)
	if m.kind == "yes" || m.kind == "no" {
		return asker
	}
	return asker || m.user == admin
}

// blind reports whether m does not name a question and arrived before question q was visible. If an earlier process
// stored the question, blind returns false, because the current process can't know whether the question was already
// shown.
func (w *world) blind(m *written, q *question) bool {
	return m.about == "" && m.droppedBy == q.filedIn && (q.seen.IsZero() || m.accepted.Before(q.seen))
}

// look makes the person react to a visible question, once for each process that shows the question.
func (w *world) look(m *message) {
	id := asksFor(m.now().Outgoing)
	i := slices.IndexFunc(w.questions, func(q *question) bool { return q.id == id })
	if id == "" || i < 0 {
		return
	}
	q := w.questions[i]
	l := q.turn.begun[len(q.turn.begun)-1].life
	if w.s.replicas == 0 {
		l = w.lives[len(w.lives)-1]
	}
	if q.seenIn == l {
		return
	}
	if q.seen.IsZero() {
		q.seen = time.Now()
	} else {
		w.counts.add("questions that a later process asks again", 1)
	}
	q.seenIn = l
	r := reaction{kind: w.s.goesOn, after: time.Second}
	if w.reacted < len(w.s.reactions) {
		r = w.s.reactions[w.reacted]
		w.reacted++
	}
	w.later(r.after, func() { w.react(q, r) })
	if r.again > 0 {
		w.later(r.after+r.again, func() { w.react(q, r) })
	}
}

// The method later runs a function after the time d. The schedule does not end before the function has run.
func (w *world) later(d time.Duration, do func()) {
	w.thinking++
	time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.thinking--
		do()
	})
}

// react makes a person react to question q as r says.
func (w *world) react(q *question, r reaction) {
	s := say{place: q.turn.place, user: w.asker(q.turn)}
	if !w.s.private(s.place) && r.who != "" {
		s.user = r.who
	}
	s.kind = strings.TrimPrefix(r.kind, "/")
	switch r.kind {
	case "":
		return
	case doApprove, doAlways, doDeny, doOld:
		w.press(&s, q, r.kind)
	case "yes":
		s.decides = agent.Approved + 1
	case "no":
		s.decides = agent.Denied + 1
	case "/approve", "/approve id", "/approve always":
		s.kind, s.decides = "approve", agent.Approved+1
	case "/deny", "/deny id":
		s.kind, s.decides = "deny", agent.Denied+1
	}
	if strings.HasSuffix(r.kind, " id") {
		s.about, s.args = q.id, strings.ToUpper(q.id)
	}
	if r.kind == "/approve always" {
		s.always, s.args = true, "always"
	}
	w.counts.add("reactions: "+r.kind, 1)
	switch {
	case w.lives[len(w.lives)-1].isDead():
		w.counts.add("reactions while nobody is there", 1)
	case !q.ruled.IsZero():
		w.counts.add("reactions to what is decided", 1)
	case s.user == admin:
		w.counts.add("reactions by an admin", 1)
	case s.user != w.asker(q.turn):
		w.counts.add("reactions by somebody else", 1)
	}
	w.messages = append(w.messages, &written{say: s})
	w.writeLocked(len(w.messages) - 1)
}

// press makes a person press a button of question q. If the platform has no buttons, the person writes the command
// instead.
func (w *world) press(s *say, q *question, kind string) {
	if kind == doOld {
		now := q
		for _, old := range w.questions {
			if old != now && old.turn.place == now.turn.place && !old.seen.IsZero() {
				q = old
			}
		}
		kind = doApprove
	}
	s.kind, s.decides, s.about, s.always = "press", agent.Approved+1, q.id, kind == doAlways
	if kind == doDeny {
		s.decides = agent.Denied + 1
	}
	s.args = kind + ":" + q.id
	if w.s.kind.caps.Buttons {
		return
	}
	switch s.kind, s.args = "approve", q.id; kind {
	case doDeny:
		s.kind = "deny"
	case doAlways:
		s.args += " always"
	}
}
