package sim

import (
	"slices"
	"strings"

	"telex/internal/chat"
)

// judgeWaived checks the words of a reply whose text is not compared as a whole (see waived). A word of the final text
// may be invisible if a create call with this word had an unknown outcome or got no message id, or if the platform
// refused a call with this word. A word may also be invisible if wordsOnScreen excuses it. A word may be visible twice
// only if it belongs to a call that was refused, had an unknown outcome or got no message id, to a message that this
// call should have changed or replaced, or to a surplus message.
func (w *world) judgeWaived(t *turnLog) {
	r := w.finalRun(t)
	if r == nil {
		return
	}
	seen, gone := w.wordsOnScreen(t)
	doubtful := map[string]int{}
	for _, c := range t.calls {
		if c.creates() && (c.unknown() || c.fault == nameless) || c.fault == badContent {
			for _, word := range words.FindAllString(c.m.Text+c.content(), -1) {
				doubtful[word]++
			}
			for _, word := range words.FindAllString(w.shownIn(c), -1) {
				// The platform refused another text for the message, so the message still shows this word.
				doubtful[word]++
			}
		}
	}
	for _, m := range w.person.of(t.id) {
		if w.s.kind.caps.Edit && !w.s.kind.caps.Delete && m.stands() && w.staysAsPreview(m) {
			w.except(longerBefore)
			for _, word := range words.FindAllString(m.text(), -1) {
				doubtful[word]++
			}
		}
	}
	for _, word := range words.FindAllString(r.answer.final, -1) {
		if seen[word] == 0 && doubtful[word] == 0 && !gone[word] {
			if w.deletedBetween(t) {
				w.except(deletedBetween)
				break
			}
			w.complain("D1: %s of turn %s is nowhere", word, t.id)
			return
		}
	}
	for word, n := range seen {
		if n > 1+doubtful[word] {
			w.complain("D1: %s of turn %s stands in %d messages", word, t.id, n)
			return
		}
	}
}

// staysAsPreview reports whether a message still shows the text of a preview, except for the cursor.
func (w *world) staysAsPreview(m *message) bool {
	return slices.ContainsFunc(m.versions, func(v version) bool { return v.Preview && strings.TrimSuffix(v.Text, w.s.config.Cursor) == m.text() })
}

// shownIn returns the current text of the message of call c. If c is a create call that failed or got no response,
// shownIn returns the text of the message that the new message should have replaced.
func (w *world) shownIn(c *call) string {
	if m := w.person.message(chat.MessageRef{Target: c.to, ID: c.id}); m != nil && c.id != "" {
		return m.text()
	}
	for _, m := range w.person.of(c.turn) {
		if c.creates() && (c.failed(chat.Rejected) || c.unknown()) && m.stands() && m.frozen && m.part == partOf(c.m.Key) {
			return m.text()
		}
	}
	return ""
}

// finalRun returns the run of the model whose answer is the final text of a turn. finalRun returns nil if the turn has
// no final text or the run was interrupted.
func (w *world) finalRun(t *turnLog) *run {
	if len(t.runs) == 0 || w.commanded(t) || t.decided.IsZero() {
		return nil
	}
	r := t.runs[len(t.runs)-1]
	if !r.over || r.err != nil || r.life.diedAt(r.ended) || w.interrupted(t, r) || w.stopped(t, t.decided) {
		return nil
	}
	return r
}

// wordsOnScreen returns, for each word of a turn's reply, the number of messages that show the word. wordsOnScreen also
// returns the words that need not be visible. A word need not be visible if a person deleted it or if it is in a file.
// A word also need not be visible in a message that can be neither edited nor deleted, or in a chat that has got a new
// id.
func (w *world) wordsOnScreen(t *turnLog) (seen map[string]int, gone map[string]bool) {
	seen, gone = map[string]int{}, map[string]bool{}
	for _, m := range w.person.of(t.id) {
		for _, word := range words.FindAllString(m.content(), -1) {
			// A message above the file may also show the file's first line.
			gone[word] = true
		}
		left := w.moved[m.chat] != "" && m.stands() && w.excused(m)
		for _, word := range words.FindAllString(m.text(), -1) {
			switch {
			case left:
				gone[word] = true
			case m.stands() && !(m.frozen && !w.s.kind.caps.Delete):
				seen[word]++
			case m.stands():
				gone[word] = gone[word] || seen[word] == 0
			case m.deletedBy == "person":
				gone[word] = true
			}
		}
	}
	return seen, gone
}

// content returns the content of the file that a create call sends, or "".
func (c *call) content() string { return fileText(c.file) }

// content returns the content of the file in a message, or "".
func (m *message) content() string { return fileText(m.file) }

func fileText(f *chat.File) string {
	if f == nil {
		return ""
	}
	return string(f.Content)
}
