package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// story returns a schedule without random events. One person asks one question in a private chat, and the model answers
// with one word per 100 ms.
func story(kindName string, answers ...answer) schedule {
	all := kinds()
	s := schedule{
		kind: all[slices.IndexFunc(all, func(k kind) bool { return k.name == kindName })], measure: points, style: plain,
		profile: chat.Profile{TextLimit: 4096, EditInterval: time.Second, TypingEvery: 5 * time.Second},
		real:    4096, latency: 50 * time.Millisecond, places: 4, queue: 20, maxAge: 15 * time.Minute,
		answers: answers, says: []say{{user: "ann", kind: "text"}}, faults: map[int]fault{}, typing: map[int]fault{},
	}
	if s.kind.caps.Draft {
		s.profile.DraftFor = 25 * time.Second
	}
	if s.kind.keyed {
		s.profile.KeyFor = time.Hour
	}
	s.config.Enabled, s.config.Interval, s.config.MinTokens, s.config.Cursor = true, time.Second, 1, " ▌"
	s.config.Transport = s.kind.transport
	return s
}

const wordTime = 100 * time.Millisecond

// talk returns an answer that consists of the words of a text.
func talk(text string) answer {
	a := answer{final: strings.TrimSpace(text), shown: text}
	for word := range strings.SplitAfterSeq(text, " ") {
		a.deltas = append(a.deltas, delta{text: word, after: wordTime})
	}
	return a
}

// numbered returns a text of n different words.
func numbered(n int) string {
	var list []string
	for i := range n {
		list = append(list, token(0, i))
	}
	return strings.Join(list, " ")
}

// see returns the visible messages of a conversation, in order.
func (w *world) see(place int) (texts []string) {
	for _, m := range w.person.messages {
		if m.stands() && m.chat == w.target(place).Chat {
			texts = append(texts, m.text())
		}
	}
	return texts
}

// made returns the calls to the platform whose kind is in ops.
func (w *world) made(ops chat.Op) (calls []*call) {
	for _, c := range w.calls {
		if c.op&ops != 0 {
			calls = append(calls, c)
		}
	}
	return calls
}

// perform plays a schedule and fails the test for every violation that the judge finds.
func perform(t *testing.T, s schedule) *world {
	t.Helper()
	var w *world
	synctest.Test(t, func(t *testing.T) { w = s.play(t) })
	if len(w.wrong) > 0 {
		t.Errorf("%s\nwhat happened:\n%s", strings.Join(w.wrong, "\n"), strings.Join(w.story(), "\n"))
	}
	return w
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func each(kind string, calls ...int) map[int]fault {
	m := map[int]fault{}
	for _, n := range calls {
		m[n] = fault{kind: kind, scope: chat.ScopeChat, after: 30 * time.Second}
	}
	return m
}

// mark is the line that the gateway shows below the text of a stopped answer.
const mark = "\n\n(stopped)"

// TestNamed plays schedules in which bots of other projects failed. The judge makes the same checks as for random
// schedules, and each case adds checks of its own.
func TestNamed(t *testing.T) {
	text := numbered(30)
	short := numbered(8)
	for _, c := range []struct {
		name  string
		s     schedule
		with  func(s *schedule)
		want  []string // the expected visible texts in the private chat
		check func(t *testing.T, w *world)
	}{
		{
			name: "F01 F02 the final arrives after previews that failed", s: story("edit", talk(text)),
			with: func(s *schedule) { s.faults = each(cutBefore, 1, 2, 3) }, want: []string{text},
		},
		{
			name: "F03 F12 a final waits exactly as told, for the same message", s: story("edit", talk(short)),
			with: func(s *schedule) { s.faults = each(limited, 1) }, want: []string{short},
			check: func(t *testing.T, w *world) {
				last := w.calls[len(w.calls)-1]
				if at := last.at.Sub(w.began); at < 30*time.Second || at > 33*time.Second {
					t.Errorf("the final came at %v, want just after 30s", at)
				}
			},
		},
		{
			name: "F04 F20 a 429 on a preview touches neither the turn nor the message", s: story("edit", talk(text)),
			with: func(s *schedule) { s.faults = each(limited, 0) }, want: []string{text},
			check: func(t *testing.T, w *world) { equal(t, "model asked", w.counts["model asked"], 1) },
		},
		{
			name: "F05 what can't be edited is replaced before it is deleted", s: story("edit", talk(text)),
			with: func(s *schedule) {
				s.faults = map[int]fault{1: {kind: isFrozen}, 2: {kind: limited, scope: chat.ScopeChat, after: 20 * time.Second}}
			},
			want: []string{text},
		},
		{
			name: "F06 F16 a long text goes on in parts that are never touched again", s: story("edit", talk(text)),
			with:  func(s *schedule) { s.profile.TextLimit, s.real = 60, 60 },
			check: func(t *testing.T, w *world) { equal(t, "text", squeeze(strings.Join(w.see(0), "")), squeeze(text)) },
		},
		{
			name: "F07 text before and after a tool call is one reply", s: story("edit", withTools(talk(text))), want: []string{text},
		},
		{
			name: "F08 a failure ends without a cursor and says so", s: story("edit", failing(talk(short))),
			check: func(t *testing.T, w *world) {
				if got := w.see(0); len(got) != 1 || !strings.HasPrefix(got[0], short+"\n\n⚠️ The model stopped answering. (error ") {
					t.Errorf("got %q, want the text and one line", got)
				}
			},
		},
		{
			name: "F10 an update that is offered again is answered once", s: story("edit", talk(short)),
			with: func(s *schedule) { s.says[0].again, s.repeats = true, 2 }, want: []string{short},
		},
		{
			name: "F11 F39 what was interrupted keeps what it showed, and the next answer follows", s: story("edit", talk(text), talk("next")),
			with: func(s *schedule) {
				s.says = append(s.says, say{at: 1500 * time.Millisecond, user: "ann", kind: "text"})
			},
			check: func(t *testing.T, w *world) {
				if got := w.see(0); len(got) != 2 || !strings.HasPrefix(text, strings.TrimSuffix(got[0], mark)) || !strings.HasSuffix(got[0], mark) || got[1] != "next" {
					t.Errorf("got %q, want a beginning with the mark and the next answer", got)
				}
			},
		},
		{
			name: "F13 a send of unknown outcome is repeated once, by the final", s: story("edit", talk(short)),
			with:  func(s *schedule) { s.faults = each(cutAfter, 0) },
			check: func(t *testing.T, w *world) { equal(t, "messages", len(w.see(0)), 2) },
		},
		{
			name: "F13 a send of unknown outcome is found again", s: story("edit-and-find", talk(short)),
			with: func(s *schedule) { s.faults = each(cutAfter, 0) }, want: []string{short},
		},
		{
			name: "F13 a send of unknown outcome is repeated under its key", s: story("edit-with-keys", talk(short)),
			with: func(s *schedule) { s.faults = each(hangAfter, 0) }, want: []string{short},
		},
		{
			name: "F15 only the part that failed is tried again", s: story("no-edit", talk(text)),
			with: func(s *schedule) { s.profile.TextLimit, s.real, s.faults = 60, 60, each(limited, 1) },
			check: func(t *testing.T, w *world) {
				equal(t, "sends", len(w.made(chat.OpSend)), len(w.see(0))+1)
			},
		},
		{
			name: "F17 a send that is under way at the end is recorded", s: story("no-edit", talk(short)),
			with: func(s *schedule) {
				s.latency = 2 * time.Second
				s.kills = []kill{{where: inOrder, at: time.Second, down: time.Second}}
			},
			want: []string{short},
		},
		{
			name: "F18 a kill does not lose the preview's id", s: story("edit", talk(text)),
			with: func(s *schedule) { s.kills = []kill{{where: atTime, at: 2 * time.Second, down: time.Second}} }, want: []string{text},
		},
		{
			name: "F19 F22 nothing is sent in a blocked scope, and the turn goes on", s: story("edit", talk(text)),
			with: func(s *schedule) { s.faults = each(limited, 1, 2, 3) }, want: []string{text},
			check: func(t *testing.T, w *world) {
				equal(t, "calls", len(w.made(chat.OpSend|chat.OpEdit)), 5)
				if r := w.order[0].runs[0]; r.ended.Sub(r.began) != 30*wordTime {
					t.Errorf("the model took %v, want %v", r.ended.Sub(r.began), 30*wordTime)
				}
			},
		},
		{
			name: "F21 what stands is not sent again", s: story("edit", ending(talk(short), time.Minute)), want: []string{short},
			check: func(t *testing.T, w *world) {
				for i, c := range w.made(chat.OpEdit) {
					if i > 0 && w.made(chat.OpEdit)[i-1].m.Text == c.m.Text {
						t.Errorf("%s is sent twice", c)
					}
				}
			},
		},
		{
			name: "F23 typing counts with everything else", s: story("edit", talk(text)),
			with: func(s *schedule) {
				s.profile.TypingEvery, s.config.MinTokens = 300*time.Millisecond, 50
				s.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 3, Window: 2 * time.Second, Burst: 3}}
			},
			want: []string{text},
		},
		{
			name: "F24 the clock runs from the start of a call", s: story("edit", talk(text)),
			with: func(s *schedule) { s.latency = 900 * time.Millisecond }, want: []string{text},
			check: func(t *testing.T, w *world) {
				list := w.made(chat.OpSend | chat.OpEdit)
				for i, c := range list[1 : len(list)-1] {
					if gap := c.at.Sub(list[i].at); gap != time.Second {
						t.Errorf("%v between two previews, want 1s", gap)
					}
				}
			},
		},
		{
			name: "F25 many tokens are few calls", s: story("edit", fast(talk(numbered(600)))),
			check: func(t *testing.T, w *world) {
				if n := len(w.made(chat.OpSend | chat.OpEdit)); n > 9 {
					t.Errorf("%d calls in 6 s, want at most 9", n)
				}
			},
		},
		{
			name: "F36 a shorter final is applied", s: story("edit", shortened(talk(text))), want: []string{token(0, 0)},
		},
		{
			name: "F37 F38 nothing of the old conversation comes after /new", s: story("edit", talk(text)),
			with:  func(s *schedule) { s.says = append(s.says, say{at: 1500 * time.Millisecond, user: "ann", kind: "new"}) },
			check: func(t *testing.T, w *world) { equal(t, "messages", len(w.see(0)), 2) },
		},
		{
			name: "F40 two conversations at once are not mixed", s: story("edit", talk(text), talk("other "+text)),
			with: func(s *schedule) {
				s.says = append(s.says, say{at: time.Millisecond, place: 3, user: "ann", kind: "text"})
			},
			want:  []string{text},
			check: func(t *testing.T, w *world) { equal(t, "the other", w.see(3), []string{"other " + text}) },
		},
		{
			name: "F43 what could not be stored is not acknowledged", s: story("edit", talk(short)),
			with: func(s *schedule) {
				s.says[0].at = time.Second
				s.accidents = []accident{{kind: "full", lasts: time.Minute}}
			},
			want: []string{short},
		},
		{
			name: "F44 what was written while the bot was down is answered", s: story("edit", talk(short)),
			with: func(s *schedule) {
				s.says[0].at = time.Minute
				s.kills = []kill{{where: atTime, down: 10 * time.Minute}}
			},
			want: []string{short},
		},
		{
			name: "F45 typing ends with the turn", s: story("edit", slowly(talk(short))), want: []string{short},
			check: func(t *testing.T, w *world) {
				if len(w.made(chat.OpTyping)) == 0 {
					t.Error("nothing was typing at all")
				}
			},
		},
		{
			name: "F46 a reply is one message from its first word to its last", s: story("edit", withTools(talk(text))), want: []string{text},
			check: func(t *testing.T, w *world) { equal(t, "creates", len(w.made(chat.OpSend)), 1) },
		},
		{
			name: "F47 D6 a final never refers to a preview that is gone", s: story("edit", talk(text)),
			with: func(s *schedule) { s.accidents = []accident{{at: 1500 * time.Millisecond, kind: "delete"}} }, want: []string{text},
			check: func(t *testing.T, w *world) {
				sends := w.made(chat.OpSend)
				equal(t, "sends", len(sends), 2)
				equal(t, "refers to", sends[1].m.ReplyTo, "")
			},
		},
		{
			name: "F48 D13 a stream is stopped before the platform ends it", s: story("stream", ending(talk(short), time.Minute)),
			with: func(s *schedule) { s.profile.StreamFor = 5 * time.Second }, want: []string{short},
			check: func(t *testing.T, w *world) {
				if stops := w.made(chat.OpStop); len(stops) == 0 || stops[0].at.Sub(w.began) > 6*time.Second {
					t.Errorf("stopped by %v, want after 5s", stops)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.with != nil {
				c.with(&c.s)
			}
			w := perform(t, c.s)
			if c.want != nil {
				equal(t, "the person sees", w.see(0), c.want)
			}
			if c.check != nil {
				c.check(t, w)
			}
			if t.Failed() {
				t.Logf("what happened:\n%s", strings.Join(w.story(), "\n"))
			}
		})
	}
}

// F42: a message arrives at the same moment at which the turn before it ends. The gateway must answer this message.
func TestNamedF42NothingIsStranded(t *testing.T) {
	t.Parallel()
	end := 8*wordTime + 50*time.Millisecond
	for at := end - 60*time.Millisecond; at <= end+60*time.Millisecond; at += 5 * time.Millisecond {
		s := story("edit", talk(numbered(8)))
		s.busy = gateway.Queue
		s.says = append(s.says, say{at: at, user: "ann", kind: "text"})
		w := perform(t, s)
		equal(t, fmt.Sprintf("messages when the second comes at %v", at), len(w.see(0)), 2)
	}
}

func failing(a answer) answer {
	a.fails = agent.StopSilence
	return a
}

func withTools(a answer) answer {
	for i := range a.deltas {
		if i%10 == 5 {
			a.deltas[i].kind = "tool"
		}
	}
	return a
}

func fast(a answer) answer { return paced(a, 10*time.Millisecond) }

func slowly(a answer) answer { return paced(a, 20*time.Second) }

func paced(a answer, d time.Duration) answer {
	for i := range a.deltas {
		a.deltas[i].after = d
	}
	return a
}

// ending returns answer a with a pause of the duration d before the last word, so that a preview shows all other words.
func ending(a answer, d time.Duration) answer {
	a.deltas[len(a.deltas)-1].after = d
	return a
}

func shortened(a answer) answer {
	a.final, a.shown = token(0, 0), token(0, 0)
	return a
}
