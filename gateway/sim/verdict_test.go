package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// reading contains the text of a reply that people can read at the end of a schedule.
type reading struct {
	w       *world
	text    string // the texts of all messages, without white space
	each    []string
	file    string // the content of the file
	caption string // the text of the message with the file, without the line gateway.TextRest
	removed bool   // the person deleted messages of the reply
	gone    string // the text of the deleted messages
	whole   string // the text together with the text of the deleted messages
	between bool   // a message that the person deleted was above one that is still visible
	parts   int
}

// withoutToldLines removes the lines that say which tool calls an interrupted answer made.
func withoutToldLines(text string) string {
	for _, line := range toldLines() {
		text = line.ReplaceAllString(text, "")
	}
	return text
}

// readings returns the possible readings of a reply. A reply has several possible readings, since each excused message
// may be part of the reply or not.
func (w *world) readings(t *turnLog) []reading {
	var sure, extra []*message
	for _, m := range w.person.of(t.id) {
		switch {
		case !m.stands():
		case w.excused(m):
			extra = append(extra, m)
		default:
			sure = append(sure, m)
		}
	}
	var list []reading
	if most := 6; len(extra) > most {
		// There are too many combinations of excused messages to try them all. Try only all messages together, and the
		// combinations of the first six excused messages.
		list = append(list, w.read(t, slices.DeleteFunc(w.person.of(t.id), func(m *message) bool { return !m.stands() })))
		extra = extra[:most]
	}
	for set := range 1 << len(extra) {
		part := slices.Clone(sure)
		for i, m := range extra {
			if set&(1<<i) != 0 {
				part = append(part, m)
			}
		}
		slices.SortFunc(part, func(a, b *message) int {
			return slices.Index(w.person.messages, a) - slices.Index(w.person.messages, b)
		})
		list = append(list, w.read(t, part))
	}
	return list
}

func (w *world) read(t *turnLog, messages []*message) reading {
	r := reading{w: w}
	for i, m := range messages {
		r.parts++
		if m.file != nil {
			r.file = string(m.file.Content)
			r.caption = strings.TrimPrefix(squeeze(m.text()), squeeze(gateway.DefaultTexts()[gateway.TextRest]))
			continue
		}
		text := squeeze(m.text())
		if i < len(messages)-1 && m.by.fault == nameless && w.resumedBy(m) {
			text = strings.TrimSuffix(text, squeeze(m.now().Note)) // without an id, the bot can't remove "(stopped)"
		}
		r.text, r.each = r.text+text, append(r.each, text)
	}
	r.between = w.deletedBetween(t)
	for _, m := range w.person.of(t.id) {
		again := func(o *message) bool { return o.key() == m.key() && o.text() == m.text() }
		if m.deletedBy == "person" && !slices.ContainsFunc(messages, again) || slices.Contains(messages, m) {
			if m.file == nil {
				r.whole += squeeze(m.text())
			}
			r.whole += squeeze(m.content())
		}
		if m.deletedBy == "person" {
			r.removed = true
			r.gone += squeeze(m.text() + m.content())
		}
	}
	r.text = withoutToldLines(r.text)
	return r
}

// deletedBetween reports whether a person deleted a message of the reply above other messages of the reply.
func (w *world) deletedBetween(t *turnLog) bool {
	all := w.person.of(t.id)
	i := slices.IndexFunc(all, func(m *message) bool { return m.deletedBy == "person" })
	return i >= 0 && slices.ContainsFunc(all[i+1:], (*message).stands)
}

// waived reports whether an exception frees the reply of turn t from the usual checks of its text, and counts this
// exception.
func (w *world) waived(t *turnLog) bool {
	switch {
	case w.stuck(t):
		w.except(sentAnewBelow)
	case slices.ContainsFunc(t.calls, func(c *call) bool { return c.fault == badContent && !c.m.Preview }):
		w.except(refusedContent)
	case w.givenUp(t):
		w.except(givenUp)
	default:
		return false
	}
	return true
}

// givenUp reports whether the outcome of two create calls for the same message stayed unknown, so that the gateway gave
// up.
func (w *world) givenUp(t *turnLog) bool {
	if w.s.kind.reconciles() {
		return false
	}
	doubts := map[partOfLife]int{}
	for p, s := range t.states {
		if s == chat.PartIntended && !apart(p.key) { // the process died before the call, or before it stored the call's outcome
			doubts[p] = 1
		}
	}
	unknown := map[partOfLife]int{}
	for _, c := range t.calls {
		if c.creates() && c.unknown() && !apart(c.m.Key) {
			p := partOfLife{c.life, c.m.Key}
			unknown[p]++
			doubts[p] = max(doubts[p], unknown[p])
		}
	}
	sum := map[string]int{}
	for p, n := range doubts {
		if sum[p.key] += n; sum[p.key] > 1 {
			return true
		}
	}
	return false
}

// stuck reports whether a message of the reply can be neither edited nor deleted, and this affects the text of the
// reply. A message that can't be changed affects the text if the reply has several other messages. The message also
// affects the text if several processes worked on the reply, since the last process can't know whether the last edit
// before a kill took effect.
func (w *world) stuck(t *turnLog) bool {
	all := w.person.of(t.id)
	lives := slices.ContainsFunc(t.calls, func(c *call) bool { return c.life != t.calls[0].life })
	return !w.s.kind.caps.Delete && (lives || len(all) > 2) &&
		slices.ContainsFunc(all, func(m *message) bool { return m.frozen })
}

// verdict is one of the results that the judge allows for a reply.
type verdict struct {
	name  string
	text  string     // if exact: the whole visible text, without white space
	words [][]string // if not exact: the visible words must be a prefix of one of these lists
	note  []string   // one of these lines must follow the text
	exact bool
	least int  // if not exact: the minimum number of visible words
	open  bool // a variable value follows the note
}

func (v verdict) String() string {
	if v.exact {
		return fmt.Sprintf("%s: %q", v.name, v.text)
	}
	return fmt.Sprintf("%s: the beginning of %v and one of %q", v.name, v.words, v.note)
}

// accepts reports whether reading r is what the verdict allows.
func (v verdict) accepts(r reading) bool {
	text, noted := v.withoutNote(r)
	if !noted {
		return false
	}
	seen, want := words.FindAllString(text, -1), words.FindAllString(v.text, -1)
	switch {
	case !v.exact && r.file != "":
		return slices.ContainsFunc(v.words, r.coversSome)
	case !v.exact:
		return slices.ContainsFunc(v.words, func(all []string) bool {
			return begins(seen, all) && (r.removed || len(seen) >= v.least) || r.removed && subsequence(seen, all)
		})
	case r.file != "":
		return r.covers(want)
	case r.removed:
		return r.shows(seen, want)
	case r.keepsLonger() && text != v.text && r.hasMessagesWith(v.text):
		r.w.except(longerBefore)
		return true
	default:
		return text == v.text
	}
}

// withoutNote returns the visible text without the note that the verdict requires. withoutNote returns false if the
// note is missing, or if it occurs twice although the platform can delete messages. If surplus messages of a preview
// stay in the chat, withoutNote ignores the text after the note.
func (v verdict) withoutNote(r reading) (string, bool) {
	text := r.text + squeeze(r.file) + r.caption
	if len(v.note) == 0 {
		return text, true
	}
	i := slices.IndexFunc(v.note, func(n string) bool { return strings.Contains(text, n) })
	if i < 0 {
		return text, slices.ContainsFunc(v.note, func(n string) bool { return strings.Contains(r.whole, n) || r.endsWithSome(n, v.open) })
	}
	before, after, _ := strings.Cut(text, v.note[i])
	switch {
	case !strings.Contains(after, v.note[i]) && !r.keepsLonger():
		return before + after, true
	case after == "":
		return before, true
	case r.keepsLonger() && (r.removed || v.open || r.hasMessagesWith(before+v.note[i])):
		if !v.open {
			r.w.except(longerBefore)
		}
		return before, true
	}
	return text, false
}

// A person may have deleted a message that contains the beginning of a line. endsWithSome reports whether the reply
// ends with the remaining end of this line.
func (r reading) endsWithSome(line string, open bool) bool {
	for k := range r.each {
		end := strings.Join(r.each[k:], "")
		if !r.between || words.MatchString(end) {
			continue
		}
		for j := range line {
			if rest, goesOn := strings.CutPrefix(end, line[j:]); goesOn && (open || rest == "") {
				r.w.except(deletedBetween)
				return true
			}
		}
	}
	return false
}

// keepsLonger reports whether surplus messages of a preview stay in the chat, because the platform can edit messages
// but not delete them.
func (r reading) keepsLonger() bool { return r.w.s.kind.caps.Edit && !r.w.s.kind.caps.Delete }

// hasMessagesWith reports whether the first messages of the reply, up to any message, together show exactly the text.
func (r reading) hasMessagesWith(text string) bool {
	for i := range r.each {
		if withoutToldLines(strings.Join(r.each[:i+1], "")) == text {
			return true
		}
	}
	return false
}

// shows reports whether the seen words contain all wanted words in order, except for words in messages that the person
// deleted.
func (r reading) shows(seen, want []string) bool {
	if r.keepsLonger() {
		seen = slices.DeleteFunc(seen, func(word string) bool { return !slices.Contains(want, word) })
		first, last := once(seen), slices.Clone(seen)
		slices.Reverse(last)
		last = once(last)
		slices.Reverse(last)
		if !subsequence(first, want) && !subsequence(last, want) {
			return false
		}
	} else if !subsequence(seen, want) {
		return false
	}
	gone := words.FindAllString(r.gone, -1)
	for _, word := range want {
		if slices.Contains(seen, word) || slices.Contains(gone, word) {
			continue
		}
		if r.between {
			r.w.except(deletedBetween)
		}
		return r.between
	}
	return true
}

// The function begins reports whether the list seen is a prefix of the list all.
func begins(seen, all []string) bool {
	return len(seen) <= len(all) && slices.Equal(seen, all[:len(seen)])
}

// covers reports whether the messages and then the file show all wanted words, except for words that the person
// deleted. If the last message ends within a line of a table, the file repeats this line.
func (r reading) covers(want []string) bool {
	parts, file := words.FindAllString(r.text, -1), words.FindAllString(r.file, -1)
	i, j := len(parts), len(want)-len(file)
	switch {
	case i > len(want) || j < 0 || !slices.Equal(file, want[j:]):
		return false
	case r.removed:
		return subsequence(parts, want)
	}
	return (j == i || j < i && r.w.s.style == nasty) && slices.Equal(parts, want[:i])
}

// coversSome is like the method covers, but reports whether the messages and then the file show a first part of the
// wanted words.
func (r reading) coversSome(want []string) bool {
	for n := range want {
		if r.covers(want[:n+1]) {
			return true
		}
	}
	return r.covers(nil)
}

// The function once removes repetitions of words. If a platform can't delete messages, words may be visible twice,
// because surplus messages stay at the end.
func once(seen []string) (out []string) {
	for _, s := range seen {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// subsequence reports whether the list all contains the words of the list seen in the same order, perhaps with other
// words between them.
func subsequence(seen, all []string) bool {
	for _, word := range seen {
		i := slices.Index(all, word)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// verdicts returns the results that the judge allows for the reply of a turn.
func (w *world) verdicts(t *turnLog) []verdict {
	var said [][]string // the words of each text that the model wrote
	for _, r := range t.runs {
		for _, s := range r.said {
			said = append(said, words.FindAllString(s, -1))
		}
	}
	said = append(said, nil)
	kept := verdict{name: "kept", words: said}
	if w.commanded(t) || len(t.runs) == 0 {
		list := w.spoken(t)
		if w.interrupted(t, &run{}) {
			list = append(list, kept)
		}
		return list
	}
	var list []verdict
	r := t.runs[len(t.runs)-1]
	finished := r.over && (r.err == nil || r.answer.fails != "" && isAgentError(r.err))
	// Another replica took over the turn before process r.life could store the result.
	lost := t.decider != nil && t.decider != r.life
	// The process died before it stored the result, or before it restarted the turn.
	died := lost || r.life.diedAt(r.ended) || !r.over || w.edits(t, r.ended) > 0 && r.life.diedAt(t.ended)
	if finished && (!t.decided.IsZero() || w.interrupted(t, r)) {
		list = append(list, w.complete(r))
	}
	if w.interrupted(t, r) {
		list = append(list, kept)
	}
	if !t.decided.IsZero() && w.stopped(t, t.decided) {
		final := words.FindAllString(r.answer.final, -1)
		list = append(list, verdict{name: "kept: stopped while the final was on its way", words: append(slices.Clip(said), final)})
	}
	if !finished || died {
		if len(t.begun) >= 3 {
			list = append(list, verdict{name: "closed: it kills", words: said, note: fixed(gateway.TextFailed), open: true})
		}
		if w.resumed(t) > w.s.maxAge {
			list = append(list, verdict{name: "closed: too old", words: said, note: fixed(gateway.TextInterrupted), open: true})
		}
	}
	return list
}

func isAgentError(err error) bool {
	_, ok := err.(*agent.Error) //nolint:errorlint // the script itself created the error, so it is not wrapped
	return ok
}

// complete returns the verdict for a turn whose model completed its answer or failed by itself.
func (w *world) complete(r *run) verdict {
	if r.err != nil {
		keys := map[agent.StopReason]gateway.TextKey{
			agent.StopError: gateway.TextModel, agent.StopSilence: gateway.TextSilence, agent.StopTimeLimit: gateway.TextTimeLimit,
		}
		note := squeeze(strings.ReplaceAll(gateway.DefaultTexts()[keys[r.answer.fails]], "{id}", r.turn[:8]))
		v := verdict{name: "failed", note: []string{note}, exact: true, text: w.shown(r)}
		if w.s.style == nasty { // Markdown that is still open at the end may hide text
			said := r.said[len(r.said)-1]
			if w.s.tools {
				said = r.answer.final
			}
			shown := w.rendered(strings.TrimSpace(said)+"\n", true)
			v.exact, v.words, v.least = false, [][]string{words.FindAllString(said, -1)}, len(words.FindAllString(shown, -1))
		}
		return v
	}
	v := verdict{name: "complete", text: w.shown(r), exact: true}
	if slices.ContainsFunc(w.questions, func(q *question) bool {
		return q.turn.id == r.turn && !q.over() && !q.ruled.IsZero() && q.verdict == agent.TimedOut
	}) {
		v.note = []string{squeeze(gateway.DefaultTexts()[gateway.TextUndecided])}
	}
	return v
}

// shown returns the text that people must see for the answer of a run, without white space.
func (w *world) shown(r *run) string {
	if r.answer.shown != "" {
		return squeeze(r.answer.shown)
	}
	return w.rendered(r.answer.final, false)
}

// resumed returns the maximum age that the question can have had when the last process took over the turn. Without
// replicas, a process takes over unfinished turns within a minute of its start. With replicas, a process may take over
// a turn at any time before the turn ends.
func (w *world) resumed(t *turnLog) time.Duration {
	oldest := t.begun[0].at
	for _, n := range t.messages {
		if at := w.messages[n].accepted; at.Before(oldest) {
			oldest = at
		}
	}
	found := t.ended
	for _, l := range w.lives {
		if w.s.replicas == 0 && l.began.Before(t.ended) {
			found = l.began.Add(time.Minute)
		}
	}
	return min(found.Sub(oldest), t.ended.Sub(oldest))
}
