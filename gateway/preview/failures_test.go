package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

func uncertain(applied bool) fate {
	f := fail(chat.Uncertain)
	f.applied = applied
	return f
}

// F13, D5: after a create call without a response, the reply shows no more previews. After a create call without a
// response, the bot may send the final message at most once more.
func TestCreateOfUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		name  string
		fates map[int]fate
		final bool // true: no message is created before the end of the reply
		want  []string
		calls int
		ok    bool
	}{
		{"preview, not applied", map[int]fate{0: uncertain(false)}, false, []string{"final"}, 2, true},
		{"preview, applied", map[int]fate{0: uncertain(true)}, false, []string{"one two three ▌", "final"}, 2, true},
		{"preview hangs", map[int]fate{0: {hang: true}}, false, []string{"final"}, 2, true},
		{"preview hangs, applied", map[int]fate{0: {hang: true, applied: true}}, false, []string{"one two three ▌", "final"}, 2, true},
		{"final, not applied", map[int]fate{0: uncertain(false)}, true, []string{"final"}, 2, true},
		{"final, applied", map[int]fate{0: uncertain(true)}, true, []string{"final", "final"}, 2, true},
		{"twice, not applied", map[int]fate{0: uncertain(false), 1: uncertain(false)}, true, nil, 2, false},
		{"twice, applied", map[int]fate{0: uncertain(true), 1: uncertain(true)}, false, []string{"one two three ▌", "final"}, 2, false},
		{"then surely not sent", map[int]fate{0: uncertain(false), 1: fail(chat.Temporary), 2: tooMany(time.Minute)}, true, []string{"final"}, 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(c.fates)
				s := begin(t, p, streamed())
				if !c.final {
					s.says("one two three", 2*time.Second)
					s.says(" four", 2*time.Minute)
					if n := s.count(chat.OpAll); n != 1 {
						t.Errorf("%d calls before the final, want 1", n)
					}
				}
				o := s.ends(Ending{Text: "final"})
				if o.Delivered != c.ok || !o.Doubt || (o.Err == nil) != c.ok {
					t.Errorf("outcome %+v, want delivered %t, in doubt", o, c.ok)
				}
				equal(t, "person sees", s.sees(), c.want)
				if n := s.count(chat.OpAll &^ chat.OpTyping); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
			})
		})
	}
}

// D5, F13: while no call gets a response, the reply does not make its last permitted create call. First, a typing
// indicator must show that the platform responds again. Because the reply waits, no text is lost in an outage of a few
// minutes.
func TestOutageOfUnknownOutcomes(t *testing.T) {
	for _, atEnd := range []bool{false, true} {
		t.Run(map[bool]string{false: "while streaming", true: "at the end"}[atEnd], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				over := time.Now().Add(3 * time.Minute)
				p.fate = func(*call) fate {
					if time.Now().Before(over) {
						return uncertain(false)
					}
					return fate{}
				}
				s := begin(t, p, streamed())
				if !atEnd {
					s.says("one two three", 2*time.Second)
				}
				s.delivers(Ending{Text: "final"}, "final")
				if n := s.count(chat.OpSend); n != 2 {
					t.Errorf("%d creates, want 2", n)
				}
				if n := s.count(chat.OpAll); n > 60 {
					t.Errorf("%d calls in three minutes of outage, want few", n)
				}
			})
		})
	}
}

// D5: the text of an edit without a response does not count as visible. The bot may repeat an edit that got no
// response.
func TestEditOfUnknownOutcome(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(map[bool]string{false: "before effect", true: "after effect"}[applied], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(map[int]fate{1: uncertain(applied), 2: uncertain(applied), 4: uncertain(applied), 5: uncertain(applied)})
				s := begin(t, p, streamed())
				s.says("one two three", time.Second)
				s.says(" four", 10*time.Second)
				s.delivers(Ending{Text: "final"}, "final")
				equal(t, "calls", s.log(), []string{
					"0s send 1: one two three ▌",
					"1s edit 1: one two three four ▌ (uncertain)",
					"2s edit 1: one two three four ▌ (uncertain)",
					"3s edit 1: one two three four ▌",
					"11s edit 1: final (uncertain)",
					"11.5s edit 1: final (uncertain)",
					"12.5s edit 1: final",
				})
			})
		})
	}
}

// An edit takes effect, but gets no response. The final text equals the older text that the platform acknowledged last.
// The older text is no longer visible, so the bot must send the final text.
func TestFinalAfterAPreviewOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{1: uncertain(true)})
		s := begin(t, p, Config{Enabled: true, MinTokens: 3}) // without a cursor
		s.says("one two three", time.Second)
		s.slot.Append(" four", 1)
		s.waits(100 * ms)
		s.delivers(Ending{Text: "one two three"}, "one two three")
	})
}

// A preview call that hangs is abandoned after its timeout, so that the final message can be sent.
func TestHangingPreviewEdit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{1: {hang: true}})
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.says(" four", time.Second)
		s.delivers(Ending{Text: "final"}, "final")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌",
			"1s edit 1: one two three four ▌ (context deadline exceeded)",
			"11s edit 1: final",
		})
	})
}

// D6: after a person deleted a preview, there are no more previews, and the final is sent once.
func TestDeletedPreview(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TypingEvery = 4 * time.Second
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.removes("1")
		s.says(" four", 2*time.Second)
		s.says(" five", 2*time.Minute)
		s.delivers(Ending{Text: "final"}, "final")
		equal(t, "calls", s.logOf(chat.OpAll), []string{
			"0s type",
			"0s send 1: one two three ▌",
			"1s edit 1: one two three four ▌ (gone)",
			"2m3s send 2: final",
		})
	})
}

// D6: the bot sends the final exactly once, even if no earlier call noticed that a person had deleted the preview. F05:
// telex deletes no message before the final is sent.
func TestDeletedBeforeTheFinal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", time.Second)
		s.removes("1")
		s.delivers(Ending{Text: "final"}, "final")
	})
}

// D5, D6: the create call that replaces a deleted message is repeated as often as any other create call.
func TestDeletedPreviewAndFinalOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && c.attempt > 0 {
				return uncertain(true)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.removes("1")
		if o := s.ends(Ending{Text: "final"}); o.Delivered || !o.Doubt {
			t.Errorf("outcome %+v, want doubt", o)
		}
		equal(t, "person sees", s.sees(), []string{"final", "final"})
	})
}

// F57: if the platform returns no message id, the message can't be edited. Without a message id, the reply shows no
// more previews, and sends the final as a new message.
func TestNoMessageID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(*call) fate { return fate{nameless: true} }
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.says(" four", time.Minute)
		o := s.ends(Ending{Text: "final"})
		if !o.Delivered || !o.Nameless {
			t.Errorf("outcome %+v, want it delivered and nameless", o)
		}
		equal(t, "person sees", s.sees(), []string{"one two three ▌", "final"})
	})
}

func TestFinalWithoutAMessageID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 10
		p.fate = func(*call) fate { return fate{nameless: true} }
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: "one two three four"}, "one two", "three four")
	})
}

// rejectsMarkup refuses every text with formatting.
func rejectsMarkup(c *call) fate {
	if len(c.m.Spans) > 0 {
		return fail(chat.Rejected)
	}
	return fate{}
}

// F26, F27: a preview or final whose markup is refused is sent once more as plain text.
func TestRefusedMarkupIsSentAsPlainText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.dialect, p.fate = spanned{}, rejectsMarkup
		s := begin(t, p, streamed())
		s.says("one **two** three", time.Second)
		s.says(" four", 2*time.Second)
		o := s.ends(Ending{Text: "one **two** three four"})
		if o.Delivered != true {
			t.Errorf("outcome %+v, want it delivered", o)
		}
		equal(t, "person sees", s.sees(), []string{"one two three four"})
		equal(t, "calls", s.log(), []string{
			"0s send: one two three ▌ (rejected)",
			"1s send 1: one two three ▌",
			"2s edit 1: one two three four ▌",
			"3s edit 1: one two three four (rejected)",
			"3s edit 1: one two three four",
		})
	})
}

// The final text is tried with markup again, even if the platform refused the markup of a preview.
func TestRefusedPreviewKeepsTheFinalsMarkup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.dialect = spanned{}
		p.fate = nth(map[int]fate{0: fail(chat.Rejected)})
		s := begin(t, p, streamed())
		s.says("one **two** three", 2*time.Second)
		s.delivers(Ending{Text: "one **two** three"}, "one two three")
		if got := len(p.messages[0].now().Spans); got != 1 {
			t.Errorf("final has %d spans, want 1", got)
		}
	})
}

// The platform refuses a text with markup and then also without markup. If the platform refuses a preview in both ways,
// the reply shows no more previews. If the platform refuses the final text in both ways, the reply fails.
func TestRefusedAsPlainText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.dialect = spanned{}
		p.fate = func(*call) fate { return fail(chat.Rejected) }
		s := begin(t, p, streamed())
		s.says("one **two** three", 5*time.Second)
		s.says(" four", time.Minute)
		o := s.ends(Ending{Text: "**final**"})
		if o.Delivered || chat.AsSendError(o.Err).Kind != chat.Rejected {
			t.Errorf("outcome %+v, want it rejected", o)
		}
		equal(t, "calls", s.log(), []string{
			"0s send: one two three ▌ (rejected)", "1s send: one two three ▌ (rejected)",
			"1m5s send: final (rejected)", "1m5s send: final (rejected)",
		})
	})
}

// F06: a text that is too long for the platform is cut in halves until it fits.
func TestTooLongIsHalved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 100 // the limit that the platform publishes
		p.fate = func(c *call) fate {
			if len([]rune(c.m.Text)) > 35 { // the limit that the platform enforces
				return fail(chat.TooLong)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		const text = "one two three four five six seven eight nine ten eleven twelve"
		s.says(text, 10*time.Second)
		s.delivers(Ending{Text: text}, "one two three four five six", "seven eight nine ten eleven", "twelve")
	})
}

func TestTooLongForever(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(*call) fate { return fail(chat.TooLong) }
		s := begin(t, p, streamed())
		s.says("one two three", time.Minute)
		s.says(" four", time.Minute)
		if o := s.ends(Ending{Text: "final"}); o.Delivered {
			t.Errorf("outcome %+v, want it undelivered", o)
		}
		if n := s.count(chat.OpAll); n > 12 {
			t.Errorf("%d calls, want the halving to end", n)
		}
	})
}

// D14: the platform refuses access once, or for several minutes. The final must become visible afterwards, and no
// cursor may stay.
func TestAccessIsRefusedForMinutes(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Forbidden, chat.Auth} {
		for name, refuse := range map[string]func(p *person, c *call) bool{
			"the first display": func(p *person, c *call) bool { return c.op == chat.OpSend && c.attempt == 0 },
			"the first edit":    func(p *person, c *call) bool { return c.op == chat.OpEdit && c.attempt == 0 },
			"a later edit":      func(p *person, c *call) bool { return c.op == chat.OpEdit && c.attempt == 1 },
			"the final":         func(p *person, c *call) bool { return c.m.Text == "final" && c.at.Sub(p.began) < 70*time.Second },
			"everything, for a while": func(p *person, c *call) bool {
				return c.at.Sub(p.began) > 2*time.Second && c.at.Sub(p.began) < 10*time.Minute
			},
		} {
			t.Run(kind.String()+": "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := newPerson()
					p.fate = func(c *call) fate {
						if refuse(p, c) {
							return fail(kind)
						}
						return fate{}
					}
					s := begin(t, p, streamed())
					s.says("one two three", 2*time.Second)
					s.says(" four", 2*time.Second)
					s.says(" five", 30*time.Second)
					if n := s.count(chat.OpAll); n > 8 {
						t.Errorf("%d calls within half a minute, want the previews suspended:\n%s", n, strings.Join(s.log(), "\n"))
					}
					s.delivers(Ending{Text: "final"}, "final")
				})
			})
		}
	}
}

// If the platform never allows access again, the bot gives the reply up at the deadline of the final, and not earlier.
func TestAccessIsRefusedForGood(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Forbidden, chat.Auth} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = func(c *call) fate {
					if c.op == chat.OpEdit {
						return fail(kind)
					}
					return fate{}
				}
				s := begin(t, p, streamed())
				s.says("one two three", time.Second)
				o := s.ends(Ending{Text: "final"})
				if o.Delivered || !o.Unfinished || chat.AsSendError(o.Err).Kind != kind {
					t.Errorf("outcome %+v, want it %v, to be done later", o, kind)
				}
				last := p.calls[len(p.calls)-1].at.Sub(p.began)
				if last < finalDeadline-maxSuspension || last > finalDeadline+time.Second {
					t.Errorf("last try after %v, want about %v", last, finalDeadline)
				}
				if n := s.count(chat.OpAll); n > 50 {
					t.Errorf("%d calls in a quarter of an hour", n)
				}
			})
		})
	}
}

// If the platform refuses to delete a message, the bot tries again.
func TestRefusedDeletionIsRepeated(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Forbidden, chat.Auth, chat.Conflict} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = func(c *call) fate {
					switch {
					case c.op == chat.OpEdit:
						return fail(chat.Frozen)
					case c.op == chat.OpDelete && c.attempt == 0:
						return fail(kind)
					}
					return fate{}
				}
				s := begin(t, p, streamed())
				s.says("one two three", 2*time.Second)
				s.delivers(Ending{Text: "final"}, "final")
			})
		})
	}
}

// If a call fails because of a polling conflict or an unreachable network, the bot must try again.
func TestTemporaryFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{0: fail(chat.Temporary), 1: fail(chat.Conflict), 3: fail(chat.Temporary), 4: fail(chat.Temporary)})
		s := begin(t, p, streamed())
		s.says("one two three", 3*time.Second)
		s.delivers(Ending{Text: "final"}, "final")
		equal(t, "calls", s.log(), []string{
			"0s send: one two three ▌ (temporary)", "1s send: one two three ▌ (conflict)", "2s send 1: one two three ▌",
			"3s edit 1: final (temporary)", "3.5s edit 1: final (temporary)", "4.5s edit 1: final",
		})
	})
}

// F54: when a supergroup replaces a group, the reply continues in the supergroup. The reply follows only one change of
// the chat's id.
func TestMovedIsFollowedOnce(t *testing.T) {
	moved := func(to chat.ChatID) fate {
		return fate{err: &chat.SendError{Kind: chat.Moved, Moved: to}}
	}
	for _, c := range []struct {
		name  string
		fates map[int]fate
		want  []string
		ok    bool
	}{
		{"preview", map[int]fate{1: moved("b")}, []string{"one two three ▌", "final"}, true},
		{"final", map[int]fate{2: moved("b")}, []string{"one two three four ▌", "final"}, true},
		{"again", map[int]fate{1: moved("b"), 2: moved("c")}, []string{"one two three ▌"}, false},
		{"nowhere", map[int]fate{1: moved("")}, []string{"one two three ▌"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(c.fates)
				s := begin(t, p, streamed())
				s.says("one two three", time.Second)
				s.says(" four", time.Minute)
				o := s.ends(Ending{Text: "final"})
				if o.Delivered != c.ok {
					t.Errorf("outcome %+v, want delivered %t", o, c.ok)
				}
				equal(t, "person sees", s.sees(), c.want)
				if last := p.calls[len(p.calls)-1]; c.ok && (last.to != "b" || last.m.ReplyTo != "") {
					t.Errorf("final went to %s as a reply to %q, want b, where old ids mean nothing", last.to, last.m.ReplyTo)
				}
			})
		})
	}
}

// spanned is a plain-text dialect that returns the formatting as spans.
type spanned struct{ markup.Plain }

func (s spanned) Render(p markup.Piece) markup.Rendered {
	r := s.Plain.Render(p)
	for _, f := range p.Formats {
		r.Spans = append(r.Spans, markup.Span{Kind: "style", Offset: f.Start, Length: f.End - f.Start})
	}
	return r
}

// The first message can't be edited to show the final, so the bot sends all messages again. The bot gives up one new
// message, because two create calls for it get no response. The old message of the same part must then show the new
// text. If the old message can't be edited either, it keeps its old text.
func TestEarlierMessageOfAPartThatIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		frozen chat.MessageID
		killed bool // the process is killed before the old message shows the new text
		want   []string
	}{
		"can be edited":           {"1", false, []string{"threefourteen five", "one two"}},
		"by the next process too": {"1", true, []string{"threefourteen five", "one two"}},
		"can't be edited":         {"2", false, []string{"fourteen", "one two"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 20
				l := live(t, p, p.endpoint(), streamed())
				for i, text := range []string{"one two three", "fourteen", " five"} {
					if i > 0 {
						l.asks(fmt.Sprint("yes:", i), "May I do it all?", 5*time.Second)
						l.slot.SetStatus(Status{})
					}
					l.says(text, 5*time.Second)
				}
				equal(t, "the previews", l.sees(), []string{"one two three", "fourteen", "five ▌"})
				fails := c.killed
				p.fate = func(call *call) fate {
					given := strings.HasPrefix(call.m.Text, "threefourteen")
					switch {
					case call.op == chat.OpEdit && (call.id == "1" || call.id == c.frozen):
						return fail(chat.Frozen)
					case call.op == chat.OpSend && given:
						return uncertain(false)
					case call.op == chat.OpEdit && given && fails:
						return fail(chat.Temporary)
					}
					return fate{}
				}
				e := Ending{Text: "one two threefourteen five"}
				l.slot.Finish(e)
				l.waits(10 * time.Minute)
				if c.killed {
					l.again()
					fails = false
					l.slot.Finish(e)
				}
				l.waits(time.Hour)
				equal(t, "a person sees", l.sees(), c.want)
				if n := strings.Count(strings.Join(p.logOf(chat.OpSend), "\n"), "threefourteen"); n != maxUncertainCreates {
					t.Errorf("%d creates of the message that is given up: %q", n, p.log())
				}
			})
		})
	}
}

// If a part has several superseded messages, the newest one that exists becomes part of the text again. The bot
// continues to search for the other superseded message.
func TestTheNewestExistingMessageBecomesPartOfTheTextAgain(t *testing.T) {
	old := message{role: roleSuperseded, phase: standing, ref: chat.MessageRef{ID: "1"}}
	s := state{parts: []message{{attempt: attempt{unresolved: maxUncertainCreates}}}, superseded: []message{old, {role: roleSuperseded}}}
	s.ops = chat.OpAll
	s.restoreSupersededFor(&s.parts[0])
	if p := s.parts[0]; p.ref != old.ref || !p.exists() || len(s.superseded) != 1 || s.superseded[0].exists() {
		t.Errorf("part %v, superseded %v", p, s.superseded)
	}
}
