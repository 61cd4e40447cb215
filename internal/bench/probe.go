package main

import (
	"slices"
	"sort"
	"strings"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// cursor is the text at the end of each preview, both of telex and of the naive loop.
const cursor = " ▌"

// sampleEvery is the time between two samples of the staleness. Staleness is the age of the oldest token that the model has
// written but that is not visible yet.
const sampleEvery = 20 * time.Millisecond

// sight describes what a person sees of an answer from the time in the field at on, in all messages together.
type sight struct {
	at     time.Time
	bytes  int  // length of the visible beginning of the answer, in bytes
	exact  bool // the person sees a beginning of the answer and no other text
	cursor bool
	whole  bool // the whole answer is visible, perhaps with other text
}

// final reports whether the person sees exactly the complete answer, without a cursor.
func (s sight) final(a answer) bool { return s.exact && !s.cursor && s.bytes == len(a.text) }

// sights returns what a person saw of the bot's messages in a chat, with one sight for each change.
func sights(history []telegram.Message, a answer) []sight {
	var moments []time.Time
	for _, m := range history {
		if !m.FromBot {
			continue
		}
		for _, v := range m.Versions {
			moments = append(moments, v.At)
		}
		if !m.Alive() {
			moments = append(moments, m.Deleted)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	list := make([]sight, len(moments))
	for i, at := range moments {
		list[i] = look(history, a, at)
	}
	return list
}

// look returns what a person saw of the answer at the given time.
func look(history []telegram.Message, a answer, at time.Time) sight {
	s := sight{at: at}
	var seen strings.Builder
	for _, m := range history {
		if !m.FromBot || !m.Alive() && !m.Deleted.After(at) {
			continue
		}
		n := sort.Search(len(m.Versions), func(i int) bool { return m.Versions[i].At.After(at) })
		if n == 0 {
			continue
		}
		text, growing := strings.CutSuffix(m.Versions[n-1].Text, cursor)
		s.cursor = s.cursor || growing
		seen.WriteString(letters(text))
	}
	s.bytes, s.exact = a.visible(seen.String())
	s.whole = strings.Contains(seen.String(), a.letter)
	return s
}

// story contains the measurements of the answer to one question.
type story struct {
	tokens    int
	staleness []float64     // one value for each sample, in seconds
	frozen    time.Duration // longest time for which the visible text stood still although the model had written more
	final     time.Duration // time from the last token to the final
	lost      bool
	doubled   bool
	twice     int // how often a change of the messages made a text visible that is not a beginning of the answer
}

// tell compares what the model wrote with what the person saw. The measurement ends when the complete answer appeared. If the
// complete answer did not appear, the measurement ends at the time in the parameter end.
func tell(a answer, r openai.Request, history []telegram.Message, end time.Time) story {
	seen := sights(history, a)
	st := story{tokens: r.Tokens}
	if n := len(seen); n == 0 || !seen[n-1].final(a) {
		st.doubled = n > 0 && seen[n-1].whole && !seen[n-1].exact
		st.lost = !st.doubled
	} else {
		for n > 1 && seen[n-2].final(a) {
			n--
		}
		end = seen[n-1].at
		st.final = end.Sub(r.LastToken)
	}
	for _, s := range seen {
		if !s.exact {
			st.twice++
		}
	}
	st.staleness = staleness(r.Marks, seen, end)
	st.frozen = frozen(r.Marks, seen, end)
	return st
}

// unseen returns when the model wrote the first token that is not among the given first bytes. If the first bytes
// contain all tokens, unseen returns false.
func unseen(marks []openai.Mark, bytes int) (time.Time, bool) {
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Bytes > bytes })
	if i == len(marks) {
		return time.Time{}, false
	}
	return marks[i].Time, true
}

// staleness returns one value for each sample from the first token until the time in the parameter end: the age in
// seconds of the oldest token that is not visible, or 0 if all tokens are visible.
func staleness(marks []openai.Mark, seen []sight, end time.Time) []float64 {
	if len(marks) == 0 {
		return nil
	}
	var ages []float64
	next, bytes := 0, 0
	for now := marks[0].Time; now.Before(end); now = now.Add(sampleEvery) {
		for next < len(seen) && !seen[next].at.After(now) {
			bytes = seen[next].bytes
			next++
		}
		age := time.Duration(0)
		if since, ok := unseen(marks, bytes); ok {
			age = max(0, now.Sub(since))
		}
		ages = append(ages, age.Seconds())
	}
	return ages
}

// frozen returns the longest time in which the visible text did not grow although the model had written more.
func frozen(marks []openai.Mark, seen []sight, end time.Time) time.Duration {
	var longest time.Duration
	bytes, grown := 0, time.Time{}
	grow := func(at time.Time) {
		if since, ok := unseen(marks, bytes); ok {
			if since.Before(grown) {
				since = grown
			}
			longest = max(longest, at.Sub(since))
		}
	}
	for _, s := range seen {
		if s.bytes > bytes && !s.at.After(end) {
			grow(s.at)
			bytes, grown = s.bytes, s.at
		}
	}
	grow(end)
	return longest
}
