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

// reading is what a person sees of a reply in the end.
type reading struct {
	w       *world
	text    string // joined, white space aside
	each    []string
	file    string // what the file says
	caption string // what stands above it but for the fixed line
	removed bool   // the person took messages away
	parts   int
}

// readings are the ways to read a reply: each message that is excused is a part of it or stands
// beside it.
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
	extra = extra[:min(len(extra), 6)]
	var list []reading
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
	for _, m := range messages {
		r.parts++
		if m.file != nil {
			r.file = string(m.file.Content)
			r.caption = strings.TrimPrefix(squeeze(m.text()), squeeze(gateway.DefaultTexts()[gateway.TextRest]))
			continue
		}
		r.text, r.each = r.text+squeeze(m.text()), append(r.each, squeeze(m.text()))
	}
	for _, m := range w.person.of(t.id) {
		r.removed = r.removed || m.deletedBy == "person"
	}
	for _, line := range toldLines() {
		r.text = line.ReplaceAllString(r.text, "")
	}
	return r
}

// waived says that the design promises nothing about this reply, and counts why.
func (w *world) waived(t *turnLog) bool {
	doubts := map[partOfLife]int{}
	for p, s := range t.states {
		if s == chat.PartIntended && !apart(p.key) { // it died before it knew more, or before the call
			doubts[p] = 1
		}
	}
	if w.stuck(t) {
		w.except(sentAnewBelow)
		return true
	}
	unknown := map[partOfLife]int{}
	for _, c := range t.calls {
		switch {
		case c.fault == badContent && !c.m.Preview:
			w.except(refusedContent)
			return true
		case c.creates() && c.unknown() && !w.s.kind.reconciles() && !apart(c.m.Key):
			p := partOfLife{c.life, c.m.Key}
			unknown[p]++
			doubts[p] = max(doubts[p], unknown[p])
		}
	}
	sum := map[string]int{}
	for p, n := range doubts {
		if sum[p.key] += n; sum[p.key] > 1 && !w.s.kind.reconciles() {
			w.except(givenUp)
			return true
		}
	}
	return false
}

// stuck says that a message of the reply can neither be edited nor deleted, while others stand, or while it can't be
// learned whether the last edit before a kill took effect.
func (w *world) stuck(t *turnLog) bool {
	all := w.person.of(t.id)
	lives := slices.ContainsFunc(t.calls, func(c *call) bool { return c.life != t.calls[0].life })
	return !w.s.kind.caps.Delete && (lives || len(all) > 2) &&
		slices.ContainsFunc(all, func(m *message) bool { return m.frozen })
}

// verdict is one way in which a reply may end.
type verdict struct {
	name  string
	text  string     // exactly, white space aside; or
	words [][]string // the whole words seen are the beginning of one of these
	note  []string   // then one of these lines follows
	exact bool
	mixed bool // parts of the final stand beside what was shown before
}

func (v verdict) String() string {
	if v.exact {
		return fmt.Sprintf("%s: %q", v.name, v.text)
	}
	return fmt.Sprintf("%s: the beginning of %v and one of %q", v.name, v.words, v.note)
}

// accepts says that the reading is what the verdict wants.
func (v verdict) accepts(r reading) bool {
	if v.mixed {
		return v.mixes(r)
	}
	text := r.text + squeeze(r.file) + r.caption
	if len(v.note) > 0 {
		i := slices.IndexFunc(v.note, func(n string) bool { return strings.Contains(text, n) })
		if i < 0 && !r.removed {
			return false
		}
		if i >= 0 {
			before, after, _ := strings.Cut(text, v.note[i])
			text = before + after
			if r.w.s.kind.caps.Edit && !r.w.s.kind.caps.Delete {
				text = before // what was longer can't be deleted
			}
		}
	}
	seen := words.FindAllString(text, -1)
	if !v.exact && r.file == "" {
		return slices.ContainsFunc(v.words, func(all []string) bool { return begins(seen, all) || r.removed && subsequence(seen, all) })
	}
	if !v.exact {
		return slices.ContainsFunc(v.words, r.covers)
	}
	want := words.FindAllString(v.text, -1)
	switch {
	case r.file != "":
		return r.covers(want)
	case r.removed && !(r.w.s.kind.caps.Edit && !r.w.s.kind.caps.Delete):
		return subsequence(seen, want)
	case r.removed:
		seen = slices.DeleteFunc(seen, func(s string) bool { return !slices.Contains(want, s) })
		first, last := once(seen), slices.Clone(seen)
		slices.Reverse(last)
		last = once(last)
		slices.Reverse(last)
		return subsequence(first, want) || subsequence(last, want)
	case r.w.s.kind.caps.Edit && !r.w.s.kind.caps.Delete && text != v.text && strings.HasPrefix(text, v.text):
		r.w.except(longerBefore)
		return true
	default:
		return text == v.text
	}
}

// mixes says that the reading is the beginning of what was said, of which some messages may already be the final: where
// that is cut in other places, words at the seams are seen twice or not yet.
func (v verdict) mixes(r reading) bool {
	seen := words.FindAllString(r.text+squeeze(r.file), -1)
	if slices.ContainsFunc(v.words, func(all []string) bool { return begins(seen, all) || r.removed && subsequence(seen, all) }) {
		return true
	}
	times := map[string]int{}
	for _, text := range append(r.each, squeeze(r.file)) {
		part := words.FindAllString(text, -1)
		if !slices.ContainsFunc(v.words, func(all []string) bool { return contains(part, all) }) {
			return false
		}
		for _, word := range part {
			if times[word]++; times[word] > 2 {
				return false
			}
		}
	}
	r.w.except(cutElsewhere)
	return true
}

// contains says that part stands somewhere in all as it is.
func contains(part, all []string) bool {
	for i := range max(0, len(all)-len(part)) + 1 {
		if begins(part, all[i:]) {
			return true
		}
	}
	return false
}

// begins says that all begins with seen.
func begins(seen, all []string) bool {
	return len(seen) <= len(all) && slices.Equal(seen, all[:len(seen)])
}

// covers says that the parts and then the file show all that is wanted, less what the person deleted. A line of a
// table that the last part cuts stands in the file as a whole.
func (r reading) covers(want []string) bool {
	parts, file := words.FindAllString(r.text, -1), words.FindAllString(r.file, -1)
	i, j := len(parts), len(want)-len(file)
	switch {
	case i > len(want) || j < 0 || !slices.Equal(file, want[j:]):
		return false
	case r.removed:
		return subsequence(parts, want)
	}
	return j <= i && slices.Equal(parts, want[:i])
}

// once leaves out what came before: where nothing can be deleted, a part that is not needed any more stays, below the final,
// or above it when the person deleted the messages before.
func once(seen []string) (out []string) {
	for _, s := range seen {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// subsequence says that seen is all with some left out.
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

// verdicts returns how the reply of a turn may end.
func (w *world) verdicts(t *turnLog) []verdict {
	var said [][]string // every beginning that the model wrote
	for _, r := range t.runs {
		for _, s := range r.said {
			said = append(said, words.FindAllString(s, -1))
		}
	}
	said = append(said, nil)
	kept := verdict{name: "kept", words: said}
	if w.commanded(t) || len(t.runs) == 0 {
		list := w.spoken(t)
		if w.interrupted(t, &run{}) || len(t.messages) > 0 && w.messages[t.messages[0]].asks() {
			list = append(list, kept)
		}
		return list
	}
	var list []verdict
	r := t.runs[len(t.runs)-1]
	finished := r.over && (r.err == nil || r.answer.fails != "" && isAgentError(r.err))
	died := r.life.diedAt(r.ended) || !r.over
	if finished && (!t.decided.IsZero() || w.interrupted(t, r)) {
		list = append(list, w.complete(r))
	}
	if w.interrupted(t, r) {
		list = append(list, kept)
	}
	if !t.decided.IsZero() && w.stopped(t, t.decided) {
		final := words.FindAllString(r.answer.final, -1)
		list = append(list, verdict{name: "kept: stopped while the final was on its way", mixed: true, words: append(slices.Clip(said), final)})
	}
	if !finished || died {
		if len(t.begun) >= 3 {
			list = append(list, verdict{name: "closed: it kills", words: said, note: fixed(gateway.TextFailed)})
		}
		if w.resumed(t) > w.s.maxAge {
			list = append(list, verdict{name: "closed: too old", words: said, note: fixed(gateway.TextInterrupted)})
		}
	}
	return list
}

func isAgentError(err error) bool {
	_, ok := err.(*agent.Error) //nolint:errorlint // made by the script itself
	return ok
}

// complete is the reply that the model brought to its end.
func (w *world) complete(r *run) verdict {
	if r.err != nil {
		keys := map[agent.StopReason]gateway.TextKey{
			agent.StopError: gateway.TextModel, agent.StopSilence: gateway.TextSilence, agent.StopTimeLimit: gateway.TextTimeLimit,
		}
		note := squeeze(strings.ReplaceAll(gateway.DefaultTexts()[keys[r.answer.fails]], "{id}", r.turn[:8]))
		v := verdict{name: "failed", note: []string{note}, exact: true, text: w.shown(r)}
		if w.s.style == nasty { // an open end may hold something back
			v.exact, v.words = false, [][]string{words.FindAllString(r.said[len(r.said)-1], -1)}
		}
		return v
	}
	v := verdict{name: "complete", text: w.shown(r), exact: true}
	if slices.ContainsFunc(w.questions, func(q *question) bool {
		return q.turn.id == r.turn && !q.ruled.IsZero() && q.verdict == agent.TimedOut
	}) {
		v.note = []string{squeeze(gateway.DefaultTexts()[gateway.TextUndecided])}
	}
	return v
}

// shown is what a person must read of what a run came to.
func (w *world) shown(r *run) string {
	if r.answer.shown != "" {
		return squeeze(r.answer.shown)
	}
	return w.rendered(r.answer.final, false)
}

// resumed is how old the question was when the last process took the turn up.
func (w *world) resumed(t *turnLog) time.Duration {
	oldest := t.begun[0].at
	for _, n := range t.messages {
		if at := w.messages[n].accepted; at.Before(oldest) {
			oldest = at
		}
	}
	return t.ended.Sub(oldest)
}

// interrupted says that somebody put an end to a turn while it ran or was being delivered.
func (w *world) interrupted(t *turnLog, r *run) bool {
	if len(t.messages) == 0 {
		return w.stopped(t, t.begun[0].at)
	}
	ended := r.ended
	if r.life != t.begun[len(t.begun)-1].life { // the newest process did not come to ask the model
		ended = time.Time{}
	}
	for i, m := range w.messages {
		if m.place != t.place || m.accepted.IsZero() || slices.Contains(t.messages, i) {
			continue
		}
		if m.accepted.Before(w.messages[t.messages[0]].accepted) || m.accepted.After(t.ended) {
			continue
		}
		switch {
		case w.stopped(t, w.messages[t.messages[0]].accepted):
			return true
		case w.s.private(m.place) || m.user == w.messages[t.messages[len(t.messages)-1]].user:
		default:
			continue
		}
		switch {
		case (w.interrupts(i) && w.s.busy == gateway.Interrupt || m.kind == "retry") && (ended.IsZero() || !m.accepted.After(ended)):
			return true
		}
	}
	return false
}

// interrupts says that a message is a question, which ends the answer before it where the mode is so. A yes or no that
// decided about a call is none.
func (w *world) interrupts(n int) bool {
	m := w.messages[n]
	return m.kind == "text" || (m.kind == "yes" || m.kind == "no") && (m.dropped.IsZero() || m.dropped.After(m.accepted))
}

// stopped says that somebody stopped a turn from a time on.
func (w *world) stopped(t *turnLog, from time.Time) bool {
	return slices.ContainsFunc(w.messages, func(m *written) bool {
		return m.place == t.place && w.ends(m, w.asker(t)) && !m.accepted.Before(from) && !m.accepted.After(t.ended)
	})
}

// ends says that m is a command that puts an end to what somebody asked.
func (w *world) ends(m *written, asker chat.UserID) bool {
	switch m.kind {
	case "stop", "new", "undo":
		return m.user != stranger
	case "forget":
		return m.user == asker || w.s.private(m.place) && m.user != stranger
	}
	return false
}

// asker is who asked what a turn answers.
func (w *world) asker(t *turnLog) chat.UserID {
	if len(t.messages) == 0 {
		return ""
	}
	return w.messages[t.messages[len(t.messages)-1]].user
}

// commanded says that a turn answers a command.
func (w *world) commanded(t *turnLog) bool {
	return !slices.ContainsFunc(t.messages, func(n int) bool { return w.messages[n].asks() && w.messages[n].user != stranger })
}

// spoken is what a turn without the model may say.
func (w *world) spoken(t *turnLog) []verdict {
	say := func(keys ...gateway.TextKey) (list []verdict) {
		for _, k := range keys {
			list = append(list, verdict{name: string(k), note: fixed(k), words: [][]string{nil}})
		}
		return list
	}
	if len(t.messages) == 0 {
		return append(say(gateway.TextCompacted, gateway.TextWithdrawn, gateway.TextDecideFirst), verdict{name: "told what an interrupted answer did", exact: true})
	}
	m := w.messages[t.messages[len(t.messages)-1]]
	if m.user == stranger {
		return say(gateway.TextPair, gateway.TextFailed)
	}
	switch m.kind {
	case "stop":
		return say(gateway.TextStopped, gateway.TextNothing, gateway.TextLate, gateway.TextFailed)
	case "new":
		return say(gateway.TextNew, gateway.TextLate, gateway.TextFailed)
	case "help":
		return say(gateway.TextHelp, gateway.TextLate, gateway.TextFailed)
	case "undo":
		return say(gateway.TextUndone, gateway.TextNothingToUndo, gateway.TextFailed)
	case "forget":
		return say(gateway.TextForgotten, gateway.TextFailed)
	case "status":
		return say(gateway.TextStatus, gateway.TextFailed)
	case "usage":
		return say(gateway.TextUsage, gateway.TextFailed)
	case "model":
		return say(gateway.TextModels, gateway.TextFailed)
	case "press", "approve", "deny":
		return say(gateway.TextNoProposal, gateway.TextNotYours, gateway.TextFailed)
	case "retry":
		return say(gateway.TextNothingToRetry, gateway.TextQueueFull, gateway.TextTooFast, gateway.TextInterrupted, gateway.TextFailed)
	case "big":
		return say(gateway.TextTooLong, gateway.TextLate, gateway.TextFailed)
	}
	list := say(gateway.TextQueueFull, gateway.TextLate, gateway.TextInterrupted, gateway.TextFailed)
	if w.s.perMinute > 0 {
		list = append(list, say(gateway.TextTooFast)...)
	}
	return list
}
