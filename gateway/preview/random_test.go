package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/telegram"
)

// schedule contains all events of one reply.
type schedule struct {
	config  Config
	profile chat.Profile
	dialect markup.Dialect
	latency time.Duration
	deltas  []delta
	ending  Ending
	fates   map[int]trouble // fates of calls, by number; only calls that show something are numbered
	finds   bool            // the platform can be searched for the messages of create calls
	files   bool
	edits   bool
	deletes bool
	removes int // the person deletes the newest message after this number of deltas; 0: never
}

// delta is what the model sends after a pause. A delta with reset discards the text before this delta.
type delta struct {
	text  string
	after time.Duration
	reset bool
	works int
}

// trouble describes the fate of a call: its kind, and a duration that some kinds need.
type trouble struct {
	kind  string
	after time.Duration
}

// fragments returns pieces of Markdown. Without the text around them, many of these pieces have another meaning or
// none.
func fragments() []string {
	return []string{
		"word ", "words and more of them, ", "**", "*", "_", "~~", "`", "`code` ", "\n", "\n\n", "```go\n", "x := 1\n", "```\n",
		"- item\n", "  - inner\n", "1. first\n", "> quote\n", "# Title\n", "---\n", "===\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n",
		"[link](https://example.org) ", "[half](htt", "👨‍👩‍👧 ", "é̂", "&amp; ", `\*`, "<b>", "@everyone ", "- [ ] task\n", strings.Repeat("long", 20) + " ",
	}
}

func schedules(t *rapid.T) schedule {
	span := func(label string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Millisecond
	}
	s := schedule{fates: map[int]trouble{}, latency: span("latency", 0, 400)}
	s.config = Config{
		Enabled:   rapid.IntRange(0, 9).Draw(t, "streaming") > 0,
		Interval:  span("interval", 100, 3000),
		MinTokens: rapid.IntRange(0, 30).Draw(t, "min tokens"),
		Progress:  rapid.Bool().Draw(t, "progress"),
		Cursor:    rapid.SampledFrom([]string{" ▌", "", "…"}).Draw(t, "cursor"),
	}
	s.profile.TextLimit = rapid.OneOf(rapid.IntRange(60, 300), rapid.IntRange(60, 4096)).Draw(t, "limit")
	s.profile.TypingEvery = span("typing", 0, 5000)
	s.config.Transport = rapid.SampledFrom([]Transport{Edit, Edit, Draft, Native}).Draw(t, "transport")
	s.profile.DraftFor = 25 * time.Second
	s.profile.StreamFor = span("stream for", 1000, 240_000)
	s.edits = rapid.IntRange(0, 9).Draw(t, "edits") > 0
	s.deletes = s.edits || rapid.Bool().Draw(t, "deletes")
	s.finds = s.edits && rapid.IntRange(0, 4).Draw(t, "finds") == 0
	switch keys := s.edits && rapid.IntRange(0, 4).Draw(t, "keys") == 0; {
	case keys && s.finds: // the key may expire, because the bot can then search for the message
		s.profile.KeyFor = span("key for", 100, 120_000)
	case keys:
		s.profile.KeyFor = 24 * time.Hour
	}
	if s.files = rapid.IntRange(0, 3).Draw(t, "files") == 0; s.files {
		s.config.MaxParts, s.config.FileLine = rapid.IntRange(1, 4).Draw(t, "parts"), "The rest."
	}
	if n := rapid.IntRange(0, 20).Draw(t, "count"); n > 0 {
		s.profile.Limits = []chat.Limit{{
			Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit | chat.OpFile,
			Count: n, Window: span("window", 100, 20_000), Burst: rapid.IntRange(1, n).Draw(t, "burst"),
		}}
	}
	s.dialect = rapid.SampledFrom([]markup.Dialect{markup.Plain{}, telegram.Dialect{}}).Draw(t, "dialect")
	for range rapid.IntRange(0, 60).Draw(t, "deltas") {
		s.deltas = append(s.deltas, delta{
			text:  rapid.SampledFrom(fragments()).Draw(t, "text"),
			after: span("after", 0, 400),
			reset: rapid.IntRange(0, 60).Draw(t, "reset") == 60,
			works: rapid.IntRange(0, 9).Draw(t, "works"),
		})
	}
	for range rapid.IntRange(0, 6).Draw(t, "faults") {
		s.fates[rapid.IntRange(0, 20).Draw(t, "call")] = trouble{
			kind: rapid.SampledFrom([]string{
				"rate", "rate", "temporary", "before", "after", "hang before", "hang after", "markup", "long", "nameless", "slow",
			}).Draw(t, "kind"),
			after: span("for", 0, 40_000),
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "person") == 9 {
		s.removes = rapid.IntRange(1, 60).Draw(t, "removes")
	}
	s.ending, s.config.FilesLine = endings(t, s.deltas), "Not {files}."
	for i := range rapid.IntRange(-2, 2).Draw(t, "made") {
		s.ending.Files = append(s.ending.Files, chat.File{Name: fmt.Sprintf("%d_a*.png", i), Content: []byte{0}})
	}
	return s
}

// endings chooses at random how the reply ends: with the text that the model wrote, with another text, or by an
// interruption.
func endings(t *rapid.T, deltas []delta) Ending {
	var text strings.Builder
	for _, d := range deltas {
		if d.reset {
			text.Reset()
		}
		text.WriteString(d.text)
	}
	e := Ending{Text: strings.TrimRightFunc(text.String(), unicode.IsSpace)}
	switch rapid.IntRange(0, 6).Draw(t, "ending") {
	case 0:
		e.Keep = true
	case 1:
		e.Cut, e.Note = true, "It broke off."
	case 2:
		e.Text = strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments()), 0, 40).Draw(t, "final"), "")
	}
	return e
}

// fate returns a function that chooses the fate of each call. A fate that is impossible for a call is ignored.
func (s schedule) fate() func(*call) fate {
	n, long := -1, 0
	made := map[string]string{} // texts of create calls that took effect but got no response, by key
	return func(c *call) fate {
		if c.op == chat.OpTyping {
			return fate{}
		}
		n++
		f, ok := s.fates[n]
		switch {
		case !ok:
		case f.kind == "rate":
			return tooMany(f.after)
		case f.kind == "temporary":
			return fail(chat.Temporary)
		case f.kind == "before", f.kind == "after":
			if c.creates() && f.kind == "after" {
				made[c.m.Key] = c.m.Text
			}
			return uncertain(f.kind == "after")
		case f.kind == "hang before", f.kind == "hang after":
			if c.creates() && f.kind == "hang after" {
				made[c.m.Key] = c.m.Text
			}
			return fate{hang: true, applied: f.kind == "hang after"}
		case f.kind == "markup" && len(c.m.Spans) > 0:
			return fail(chat.Rejected)
		case f.kind == "long" && c.creates() && made[c.m.Key] == c.m.Text: // a platform does not refuse a text that it accepted before
		case f.kind == "long" && !s.ending.Keep && !s.files && long < 1 && utf8.RuneCountInString(c.m.Text) > 40:
			long++
			return fail(chat.TooLong)
		case f.kind == "nameless" && c.op == chat.OpSend && s.profile.KeyFor == 0 && !s.finds:
			return fate{nameless: true}
		case f.kind == "slow":
			return fate{latency: f.after % (5 * time.Second)}
		}
		return fate{}
	}
}

// has reports whether a call failed with this kind of error.
func has(calls []*call, kind chat.ErrorKind) bool {
	return slices.ContainsFunc(calls, func(c *call) bool { return c.err != nil && chat.AsSendError(c.err).Kind == kind })
}

// play runs the schedule and returns the errors in what the person saw.
func (s schedule) play(t *testing.T) []string {
	p := newPerson()
	p.profile, p.dialect, p.latency, p.fate = s.profile, s.dialect, s.latency, s.fate()
	e := p.endpoint()
	e.Drafter, e.Streamer = channel{p}, channel{p}
	if !s.edits {
		e.Editor, e.Drafter, e.Streamer = nil, nil, nil
	}
	if !s.deletes {
		e.Deleter = nil
	}
	if s.files {
		e.Filer = channel{p}
	}
	if s.finds {
		e.Finder = channel{p}
	}
	st := beginAt(t, p, e, s.config, "key")
	for i, d := range s.deltas {
		if d.reset {
			st.slot.Reset()
		}
		switch d.works { // for most deltas, the status stays as it is
		case 6:
			st.slot.SetStatus(Status{Thought: "Hmm, *let* me @see.", ThoughtSince: time.Now()})
		case 7:
			st.slot.SetStatus(Status{Lines: []string{"⚙ a tool", "⚙ another"}, Since: time.Now(), Thought: "Hmm, *let* me @see."})
		case 8:
			st.slot.SetStatus(Status{Lines: []string{"Really?"}, Since: time.Now(), Urgent: true, Actions: []chat.Action{{ID: "yes", Label: "Yes"}}})
		case 9:
			st.slot.SetStatus(Status{})
		}
		st.says(d.text, d.after)
		if n := len(p.sees()); i+1 == s.removes && n > 0 {
			p.removes(chat.MessageID(fmt.Sprint(n)))
		}
	}
	st.slot.Finish(s.ending)
	<-st.ended
	st.cancel()
	time.Sleep(time.Hour) // F38, F45: check that no call is made after the end
	synctest.Wait()
	wrong := slices.Concat(p.wrong, p.repeats(), s.judgeCalls(p, st.out), s.judgeEnd(p, st.out))
	if len(wrong) > 0 {
		wrong = append(wrong, "calls:\n\t"+strings.Join(p.logOf(chat.OpAll&^chat.OpTyping), "\n\t"))
	}
	return wrong
}

// judgeCalls checks each call by itself.
func (s schedule) judgeCalls(p *person, o Outcome) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	creates := map[string]int{} // number of create calls without a response, by part
	known := map[string]bool{"key.0": true}
	var last time.Time
	muted, early := false, 0
	for _, c := range p.calls {
		if c.op == chat.OpTyping {
			continue
		}
		at := c.at.Sub(p.began)
		if c.creates() && creates[c.m.Key] >= maxUncertainCreates {
			say("D5: %v: another create of %s", at, c.m.Key)
		}
		if c.m.Preview {
			continued := !known[c.m.Key]
			known[c.m.Key] = known[c.m.Key] || c.err == nil
			if gap := c.at.Sub(last); !last.IsZero() && gap < s.config.Interval && !continued && len(c.m.Actions) == 0 {
				// When a message is full, a question below it may need calls before the interval is over.
				if early++; early > 3*s.questions() {
					say("%v: preview %v after the one before", at, gap)
				}
			}
			if muted && !isQuestion(c.m.Key) {
				say("D5, F57: %v: preview after a create that can't be edited", at)
			}
			if !s.config.Enabled && s.questions() == 0 {
				say("F56: %v: preview", at)
			}
			last = c.at
		} else if s.config.Cursor != "" && strings.HasSuffix(c.m.Text, s.config.Cursor) && c.op != chat.OpDelete &&
			!strings.HasSuffix(s.ending.Text, s.config.Cursor) {
			say("%v: final with a cursor", at)
		}
		if s.stray(c) {
			creates[c.m.Key]++
		}
		muted = muted || s.stray(c) && !isQuestion(c.m.Key) || c.nameless && c.err == nil
		for _, w := range badSpans(c.m, s.dialect) {
			say("D7: %v: %s", at, w)
		}
	}
	left := !s.deletes && slices.ContainsFunc(p.calls, func(c *call) bool { return isQuestion(c.m.Key) && c.err != nil })
	refused := left || s.profile.KeyFor > 0 && (has(p.calls, chat.TooLong) || has(p.calls, chat.Rejected))
	if o.Doubt != (len(creates) > 0) && !refused {
		say("doubt is %t, creates of unknown outcome: %v", o.Doubt, creates)
	}
	return wrong
}

// questions returns the number of times that a person is asked to approve something.
func (s schedule) questions() (n int) {
	for _, d := range s.deltas {
		if d.works == 8 {
			n++
		}
	}
	return n
}

// isQuestion reports whether a key belongs to a separate question instead of a part of the reply.
func isQuestion(key string) bool { return strings.Contains(key, ".q") }

// stray reports whether a call may have created a message whose id the reply can't learn.
func (s schedule) stray(c *call) bool {
	return c.creates() && c.err != nil && chat.AsSendError(c.err).Kind == chat.Uncertain && !s.finds && s.profile.KeyFor == 0
}

// judgeEnd checks the visible messages at the end (D1).
func (s schedule) judgeEnd(p *person, o Outcome) []string {
	strays, hopeless := map[chat.MessageID]bool{}, false
	creates := map[string]int{}
	for _, c := range p.calls {
		unknown := s.stray(c)
		if unknown {
			creates[c.m.Key]++
			hopeless = hopeless || creates[c.m.Key] >= maxUncertainCreates && !isQuestion(c.m.Key)
		}
		if unknown || c.nameless && c.m.Preview {
			strays[c.id] = true
		}
	}
	var got []chat.Outgoing
	for _, m := range p.messages {
		switch {
		case m.deleted, strays[m.id], isQuestion(m.versions[0].Key) && !s.deletes: // whether these messages stay does not matter
		default:
			got = append(got, m.now())
		}
	}
	if s.ending.Keep {
		return s.judgeKept(p, got, o, hopeless)
	}
	if o.Delivered == hopeless || (o.Err == nil) != o.Delivered {
		return []string{fmt.Sprintf("delivered %t, %v; hopeless %t", o.Delivered, o.Err, hopeless)}
	}
	wrong := s.judgeFinal(p, got, hopeless, false)
	if len(wrong) > 0 && s.config.Transport == Native { // the text may be split where a stream would be split
		if again := s.judgeFinal(p, got, hopeless, true); len(again) == 0 {
			return nil
		}
	}
	return wrong
}

// judgeFinal compares the visible messages with one layout of the final text.
func (s schedule) judgeFinal(p *person, got []chat.Outgoing, hopeless, grown bool) []string {
	var want []chat.Outgoing
	for _, w := range s.final(grown) {
		m := chat.Outgoing{Text: w.Rendered.Text}
		for _, sp := range w.Rendered.Spans {
			m.Spans = append(m.Spans, chat.Span(sp))
		}
		want = append(want, m)
	}
	same := func(a, b chat.Outgoing) bool {
		return a.Text == b.Text && (slices.Equal(a.Spans, b.Spans) || has(p.calls, chat.Rejected))
	}
	switch {
	case hopeless, s.removes > 0: // the visible text must at least be part of the final text
		if has(p.calls, chat.TooLong) {
			return nil
		}
		for _, g := range got {
			if !slices.ContainsFunc(want, func(w chat.Outgoing) bool { return same(w, g) }) {
				return []string{fmt.Sprintf("D1: person sees %q, which is not of the final", g.Text)}
			}
		}
	case has(p.calls, chat.TooLong):
		if g, w := squeeze(got), squeeze(want); g != w {
			return []string{fmt.Sprintf("D1: person sees\n%q\nwant\n%q", g, w)}
		}
	case !slices.EqualFunc(got, want, same):
		return []string{fmt.Sprintf("D1: person sees\n%+v\nwant\n%+v", got, want)}
	}
	return nil
}

// bareOf returns a preview's text without its cursor and the lines below it.
func bareOf(text, cursor string) string {
	text = strings.TrimSuffix(text, cursor)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "💭 Hmm, *let* me @see."), "\n\n")
	for _, status := range []string{"⚙ a tool\n⚙ another", "Really?"} {
		text = strings.TrimSuffix(strings.TrimSuffix(text, status), "\n\n")
	}
	return text
}

// judgeKept checks an interrupted reply: the shown text stays, without a cursor (D9).
func (s schedule) judgeKept(p *person, got []chat.Outgoing, o Outcome, hopeless bool) []string {
	if !o.Delivered && !hopeless { // the text of a draft stays only if a message replaces it
		return []string{fmt.Sprintf("D9: interrupted and not delivered: %v", o.Err)}
	}
	grown := map[string]bool{} // texts that streams showed before the reply ended
	for _, m := range p.messages {
		for _, v := range m.versions[:len(m.versions)-1] {
			grown[v.Text] = true
		}
	}
	// If a process died, people may have seen the last text that this process tried to stream.
	tried := func(text string) bool {
		return slices.ContainsFunc(p.calls, func(c *call) bool {
			said, added := strings.CutSuffix(text, c.m.Text)
			streams := c.op == chat.OpAppend || c.op == chat.OpStop
			return streams && errors.Is(c.err, context.Canceled) && c.m.Text != "" && added && grown[said]
		})
	}
	for _, g := range got {
		shown := g.Preview || grown[g.Text] || tried(g.Text) || slices.ContainsFunc(p.calls, func(c *call) bool {
			return c.m.Preview && bareOf(c.m.Text, s.config.Cursor) == g.Text
		})
		if !shown {
			return []string{fmt.Sprintf("D9: person sees %q, which was never a preview less its cursor", g.Text)}
		}
	}
	return nil
}

// final returns the messages of the expected final text.
func (s schedule) final(grown bool) []markup.Part {
	st := state{place: place{cfg: s.config, dialect: s.dialect, limit: s.profile.TextLimit}, ending: &s.ending}
	if s.files {
		st.ops = chat.OpFile
	}
	if st.grows = grown; grown {
		st.parts = []message{{nextStart: new(markup.Mark)}}
	}
	if s.config.Enabled && s.edits {
		st.limit -= s.dialect.Len(markup.Rendered{Text: s.config.Cursor})
	}
	st.layoutFinal()
	return st.final
}

// squeeze returns the text of messages without white space, so that it does not matter where a text is split into
// messages.
func squeeze(messages []chat.Outgoing) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(strings.Join(strings.Fields(m.Text), ""))
	}
	return b.String()
}

// badSpans returns the errors for which a strict platform would refuse message m.
func badSpans(m chat.Outgoing, d markup.Dialect) (wrong []string) {
	if !utf8.ValidString(m.Text) || strings.ContainsRune(m.Text, utf8.RuneError) {
		wrong = append(wrong, fmt.Sprintf("broken text %q", m.Text))
	}
	if _, ok := d.(telegram.Dialect); !ok {
		return wrong
	}
	units := utf16.Encode([]rune(m.Text))
	for _, sp := range m.Spans {
		end := sp.Offset + sp.Length
		if sp.Offset < 0 || sp.Length <= 0 || end > len(units) {
			wrong = append(wrong, fmt.Sprintf("%+v is outside of %q", sp, m.Text))
			continue
		}
		for _, at := range []int{sp.Offset, end} {
			if at < len(units) && units[at] >= 0xDC00 && units[at] < 0xE000 {
				wrong = append(wrong, fmt.Sprintf("%+v cuts a character of %q", sp, m.Text))
			}
		}
	}
	return wrong
}

// The invariants D1 to D9 hold for random texts, failures, limits and settings. If a schedule fails, the test prints
// how to play the same schedule again.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := schedules(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = s.play(t) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}
