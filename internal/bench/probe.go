package main

import (
	"slices"
	"sort"
	"strings"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// cursor ends every preview, of telex and of the naive loop.
const cursor = " ▌"

// sampleEvery is how often staleness is looked at.
const sampleEvery = 20 * time.Millisecond

// sight is what a person saw of an answer from a moment on, all messages together.
type sight struct {
	at     time.Time
	bytes  int  // so much of the answer's beginning
	exact  bool // nothing else was to be seen
	cursor bool
	whole  bool // the answer is in it, whatever else is
}

// final says that this is what must stand at the end.
func (s sight) final(a answer) bool { return s.exact && !s.cursor && s.bytes == len(a.text) }

// sights returns what a person saw of the bot's messages in a chat, one sight for each change.
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

// look returns what was to be seen at a moment.
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

// story is what happened to one question.
type story struct {
	tokens    int
	staleness []float64     // seconds, one for each sample
	frozen    time.Duration // longest time without a change while there was text to show
	final     time.Duration // from the last token to the final
	lost      bool
	doubled   bool
	twice     int // moments at which something else than the answer's beginning was to be seen
}

// tell puts together what the model wrote and what the person saw, until end at most.
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

// unseen returns when the oldest token was written that a person with so many bytes does not see.
func unseen(marks []openai.Mark, bytes int) (time.Time, bool) {
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Bytes > bytes })
	if i == len(marks) {
		return time.Time{}, false
	}
	return marks[i].Time, true
}

// staleness returns the age in seconds of the oldest token that is not visible, at regular moments
// from the first token until end; 0 where all of them are.
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

// frozen returns the longest time for which nothing new appeared although there was something.
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
