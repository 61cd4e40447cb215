package preview

import (
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/telegram"
)

// A draft that stays becomes a message, without its markup where the platform refuses that (D9).
func TestKeptDraftWhoseMarkupIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := lavish()
		p.dialect = telegram.Dialect{}
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && len(c.m.Spans) > 0 {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := told(t, p, e, Draft)
		s.says("one **two** three", 1200*ms)
		s.delivers(Ending{Keep: true}, "one two three")
	})
}

// What was shown stays even where the platform does not take it any more in one message: it
// stays in more of them, without a cursor (D9).
func TestKeptTextThatIsTooLongNow(t *testing.T) {
	for _, cut := range []bool{false, true} {
		bothWays(t, func(t *testing.T, rated bool) {
			p := newPerson()
			p.fate = func(c *call) fate {
				switch {
				case c.op != chat.OpEdit:
				case rated && c.attempt == 0:
					return tooMany(1000 * ms)
				case p.dialect.Len(markup.Rendered{Text: c.m.Text}) > 40:
					return fail(chat.TooLong)
				}
				return fate{}
			}
			s := begin(t, p, streamed())
			s.says(strings.Repeat("word ", 10), 1200*ms)
			if cut {
				s.slot.Cut()
			}
			s.delivers(Ending{Keep: true}, "word word word word word word", "word word word word")
		})
	}
}
