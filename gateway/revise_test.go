package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// The function revised returns a message, or an edit or a deletion of the message, with the given id.
func revised(kind chat.InboundKind, id chat.MessageID, text string) chat.Inbound {
	in := ask(text)
	in.Kind, in.ID = kind, id
	return in
}

// The asker edits a question while the bot answers it. The answer must start over in the same message.
func TestAnEditedQuestionIsAnsweredInTheSameMessage(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     gateway.OnEdit
		after  time.Duration
		change func(*chat.Inbound)
		want   string
	}{
		{"at once", gateway.Restart, 50 * time.Millisecond, nil, "re: b"},
		{"while it is shown", gateway.Restart, time.Second, nil, "re: b"},
		{"not configured", gateway.IgnoreEdit, time.Second, nil, long},
		{"of another message", gateway.Restart, time.Second, func(in *chat.Inbound) { in.ID = "other" }, long},
		{"by somebody else", gateway.Restart, time.Second, func(in *chat.Inbound) { in.Sender.ID = "8" }, long},
		{"to the same", gateway.Restart, time.Second, func(in *chat.Inbound) { in.Text = "a" }, long},
		{"afterwards", gateway.Restart, 20 * time.Second, nil, long},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, func(o *gateway.Options) { o.OnEdit = c.on })
				l.say(t, revised(chat.Text, "m1", "a"))
				later(c.after)
				in := revised(chat.Edited, "m1", "b")
				if c.change != nil {
					c.change(&in)
				}
				l.say(t, in)
				later(20 * time.Second)
				equal(t, "messages", l.sees(), []string{c.want})
				if unfinished, err := l.store.Unfinished(t.Context()); err != nil || len(unfinished) > 0 {
					t.Errorf("unfinished: %v, %v", unfinished, err)
				}
				l.say(t, ask("c"))
				later(2 * time.Second)
				history := l.turns[len(l.turns)-1].Messages
				if want := map[bool]string{true: "b", false: "a"}[c.want == "re: b"]; len(history) != 3 || history[0].Text != want || history[1].Text != c.want {
					t.Errorf("the history is %v", history)
				}
			})
		})
	}
}

// An edit interrupts a turn before the model is called. No usage may be counted for the interrupted attempt.
func TestAnEditBeforeTheModelIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.thinks, l.steps = 10*time.Second, []agent.Completion{{Text: "Very well."}}
		l.open(t, func(o *gateway.Options) { o.OnEdit = gateway.Restart })
		l.say(t, revised(chat.Text, "m1", "a"))
		l.say(t, revised(chat.Edited, "m1", "b"))
		later(time.Minute)
		used, err := l.store.Used(t.Context(), chat.UsageOf{})
		if asked := len(l.asked); err != nil || used.Calls != asked {
			t.Errorf("%d calls are counted, %d were made: %v", used.Calls, asked, err)
		}
	})
}

// The asker edits a question that still waits, and then the process dies. The next process must answer the edited question.
func TestAnEditedQuestionThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, func(o *gateway.Options) { o.OnEdit, o.Busy = gateway.Restart, gateway.Queue })
		l.say(t, ask("a"))
		later(300 * time.Millisecond)
		l.say(t, revised(chat.Text, "m2", "x"))
		later(300 * time.Millisecond)
		l.say(t, revised(chat.Edited, "m2", "y"))
		later(300 * time.Millisecond)
		l.kill()
		l.begin(t, func(o *gateway.Options) { o.OnEdit, o.Busy = gateway.Restart, gateway.Queue })
		later(20 * time.Second)
		equal(t, "messages", l.sees(), []string{long, "re: y"})
	})
}

// The asker edits a question, and then edits it again, undoes the edit or deletes the question, while the interrupted reply
// may still make its last call. People must see one answer, to the last version of the question.
func TestAnEditIsEditedAgain(t *testing.T) {
	for i := range 30 {
		after := 500*time.Millisecond + time.Duration(i)*20*time.Millisecond
		for name, c := range map[string]struct {
			then revision
			want string
		}{
			"again":   {revision{chat.Edited, "c"}, "re: c"},
			"back":    {revision{chat.Edited, "a"}, long},
			"deleted": {revision{chat.Deleted, ""}, ""},
		} {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, func(o *gateway.Options) { o.OnEdit, o.Endpoints[0].Streaming.Cursor = gateway.Restart, " ▌" })
				l.say(t, revised(chat.Text, "m1", "a"))
				later(after)
				l.say(t, revised(chat.Edited, "m1", "b"))
				l.say(t, revised(c.then.kind, "m1", c.then.text))
				later(20 * time.Second)
				seen := l.sees()
				if ok := c.want == "" && !strings.Contains(seen[0], "▌") && seen[0] != "re: b" || seen[0] == c.want; !ok || len(seen) != 1 {
					t.Errorf("%s after %v: the person sees %q", name, after, seen)
				}
			})
		}
	}
}

// reviser is a store that runs a function while it stores the first revision.
type reviser struct {
	gateway.Store
	meanwhile func()
}

func (r *reviser) Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	err := r.Store.Revise(ctx, c, in)
	if f := r.meanwhile; f != nil {
		r.meanwhile = nil
		f()
	}
	return err
}

// The asker edits a question again after its interrupted turn has ended, but before the turn runs again. The answer
// must be to the second edit.
func TestAnEditIsEditedBetweenTwoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		s := &reviser{}
		l.begin(t, func(o *gateway.Options) { s.Store, o.Store, o.OnEdit = o.Store, s, gateway.Restart })
		s.meanwhile = func() { l.say(t, revised(chat.Edited, "m1", "c")) }
		l.say(t, revised(chat.Text, "m1", "a"))
		later(500 * time.Millisecond)
		l.say(t, revised(chat.Edited, "m1", "b"))
		later(20 * time.Second)
		equal(t, "messages", l.sees(), []string{"re: c"})
	})
}

// revision is a change of a message.
type revision struct {
	kind chat.InboundKind
	text string
}

// A tool call has changed something when the asker edits the question. The answer must not start over, because the call
// would be repeated.
func TestAnEditAfterAChangeStartsNothingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.steps[1].Text = long
		l.open(t, func(o *gateway.Options) { o.OnEdit = gateway.Restart })
		l.say(t, revised(chat.Text, "m1", "switch it on"))
		later(3 * time.Second)
		l.say(t, pressing(l.button("approve:")))
		l.plans(func() { l.thinks = 5 * time.Second })
		later(2 * time.Second)
		l.say(t, revised(chat.Edited, "m1", "switch it off"))
		later(30 * time.Second)
		if l.times() != 1 {
			t.Errorf("the call was made %d times", l.times())
		}
		equal(t, "messages", l.sees(), []string{"I switch it on.\n\n" + long})
	})
}

// The asker edits a question while a tool call waits for approval. The tool call belongs to the old version of the
// question, so people must no longer be able to approve this call.
func TestAnEditWhileACallWaitsForApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, func(o *gateway.Options) { o.OnEdit = gateway.Restart })
		l.say(t, revised(chat.Text, "m1", "switch it on"))
		later(3 * time.Second)
		old := l.button("approve:")
		l.plans(func() { l.steps = []agent.Completion{{Text: "Very well."}} })
		l.say(t, revised(chat.Edited, "m1", "never mind"))
		later(3 * time.Second)
		l.say(t, pressing(old))
		later(3 * time.Second)
		if l.times() != 0 {
			t.Errorf("the call was made %d times", l.times())
		}
		equal(t, "the first message", l.sees()[:1], []string{"Very well."})
	})
}

// The asker edits a question, and at once stops or deletes the answer, while the interrupted reply may still make its
// last call. The message must keep its visible text, without a cursor.
func TestStopOrForgetDuringAnEdit(t *testing.T) {
	for i := range 4 * 30 { // at some of these moments, a call to the platform is running
		by, after := []string{"stop", "undo", "new", "forget"}[i%4], 500*time.Millisecond+time.Duration(i/4)*20*time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			l.begin(t, func(o *gateway.Options) { o.OnEdit, o.Endpoints[0].Streaming.Cursor = gateway.Restart, " ▌" })
			l.say(t, revised(chat.Text, "m1", "a"))
			later(after)
			l.say(t, revised(chat.Edited, "m1", "b"))
			l.say(t, command(by))
			later(20 * time.Second)
			if seen := l.sees(); !strings.HasPrefix(long, strings.TrimSuffix(seen[0], "\n\n(stopped)")) {
				t.Errorf("%s: the person sees %q", by, seen)
			}
			if unfinished, err := l.store.Unfinished(t.Context()); err != nil || len(unfinished) > 0 {
				t.Errorf("%s: unfinished: %v, %v", by, unfinished, err)
			}
		})
	}
}

// The asker deletes a question that is being answered, and one that waits. The answer must end, and the waiting
// question must not be answered.
func TestADeletedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
		l.say(t, revised(chat.Text, "m1", "a"))
		later(300 * time.Millisecond)
		l.say(t, revised(chat.Text, "m2", "b"))
		later(300 * time.Millisecond)
		l.say(t, revised(chat.Deleted, "m2", ""))
		later(300 * time.Millisecond)
		l.say(t, revised(chat.Deleted, "m1", ""))
		later(20 * time.Second)
		if seen := l.sees(); len(seen) != 1 || len(seen[0]) >= len(long) {
			t.Errorf("the person sees %q", seen)
		}
		if waiting, err := l.store.Pending(t.Context()); err != nil || len(waiting) > 0 {
			t.Errorf("waiting: %v, %v", waiting, err)
		}
	})
}
