package main

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// cursor is the cursor in the configuration of the daemons.
const cursor = "▌"

// shown is one message of the bot that is visible at the end.
type shown struct {
	id   int
	text string
	// nameless means that the daemon was killed before it could store the message's id. Without this id, no later daemon can
	// delete the message.
	nameless bool
	origin   string // text that says which daemon made the message
}

func (s shown) cursor() bool { return strings.HasSuffix(s.text, cursor) }

// verdict counts the mistakes in what a person sees. If a verdict has the zero value, the person sees exactly the answer.
type verdict struct {
	Lost    int `json:"lost"`    // answers that are not completely visible
	Doubled int `json:"doubled"` // answers of which a part is visible twice
	Cursors int `json:"cursors"` // messages that end with a cursor
	Limits  int `json:"limits"`  // calls beyond the published limits, and calls before the wait after a 429 was over
	// Uncertain counts nameless messages that are visible in addition to the answer. UncertainTwice and UncertainCursors count
	// some of these nameless messages. A later daemon should have found and deleted every nameless message.
	Uncertain        int    `json:"uncertain"`         // number of nameless messages
	UncertainTwice   int    `json:"uncertain_twice"`   // nameless messages that show the whole text of another message
	UncertainCursors int    `json:"uncertain_cursors"` // nameless messages that end with a cursor
	Other            int    `json:"other"`             // anything else that is wrong
	What             string `json:"what,omitempty"`    // describes the mistakes in words
}

// bad reports whether anything is wrong.
func (v verdict) bad() bool { return v.Lost+v.Doubled+v.Cursors+v.Limits+v.Uncertain+v.Other > 0 }

func (v *verdict) add(w verdict) {
	v.Lost += w.Lost
	v.Doubled += w.Doubled
	v.Cursors += w.Cursors
	v.Limits += w.Limits
	v.Uncertain += w.Uncertain
	v.UncertainTwice += w.UncertainTwice
	v.UncertainCursors += w.UncertainCursors
	v.Other += w.Other
	v.What = strings.TrimPrefix(v.What+"\n"+w.What, "\n")
}

// flat replaces each run of white space in a text by a single space, because splitting a text into messages may change
// white space.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// lines returns the texts of the messages, one below the other.
func lines(list []shown) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, s.text)
	}
	return strings.Join(texts, "\n\n")
}

func join(list []shown) string { return flat(lines(list)) }

// judge compares the messages in a chat with the expected answer. judge may ignore nameless messages, but only if the remaining
// messages then are exactly the answer. judge ignores as few nameless messages as possible.
func judge(want string, list []shown) verdict {
	aside, ok := setAside(list, func(rest []shown) bool {
		return !slices.ContainsFunc(rest, shown.cursor) && join(rest) == flat(want)
	})
	if ok {
		return weigh(list, aside)
	}
	v := verdict{What: "want " + clip(want) + describe(list)}
	for _, s := range list {
		if s.cursor() && !s.nameless {
			v.Cursors++
		}
	}
	all, target := strings.ReplaceAll(join(list), " "+cursor, ""), flat(want)
	switch strings.Count(all, target) {
	case 0:
		v.Lost = 1
	case 1:
		if v.Cursors == 0 {
			v.Doubled = 1 // the whole answer is visible, so the additional text counts as a repetition
		}
	default:
		v.Doubled = 1
	}
	return v
}

// setAside returns the smallest set of nameless messages that must be ignored so that the function ok returns true for the
// other messages. Each bit of the result set stands for a message.
func setAside(list []shown, ok func(rest []shown) bool) (set uint, found bool) {
	for s := range uint(1) << min(len(list), 10) {
		if found && bits.OnesCount(s) >= bits.OnesCount(set) {
			continue
		}
		rest, may := without(list, s)
		if may && ok(rest) {
			set, found = s, true
		}
	}
	return set, found
}

// without returns the messages that are not in set. The result may is true if all messages in set are nameless, so that the
// test may ignore them.
func without(list []shown, set uint) (rest []shown, may bool) {
	for i, m := range list {
		switch {
		case set>>i&1 == 0:
			rest = append(rest, m)
		case !m.nameless:
			return nil, false
		}
	}
	return rest, true
}

// weigh returns a verdict that counts the messages in set, which are those that judge has ignored.
func weigh(list []shown, set uint) verdict {
	var v verdict
	rest, _ := without(list, set)
	for i, m := range list {
		if set>>i&1 == 0 {
			continue
		}
		v.Uncertain++
		v.What = "a message that nobody found stands beside the answer" + describe(list)
		if m.cursor() {
			v.UncertainCursors++
		}
		for _, other := range rest {
			if flat(other.text) == flat(strings.TrimSuffix(m.text, cursor)) {
				v.UncertainTwice++
				break
			}
		}
	}
	return v
}

// closing matches the last line of a reply that telex has given up, because several daemons in a row were killed
// during the reply.
var closing = regexp.MustCompile(`^⚠️ Something went wrong here\. \(error [0-9a-f]{8}\)$`)

// judgeClosed checks the messages of a reply that telex has given up. The messages must show the beginning of the
// answer, including all text that the person saw before, and one line that says that something went wrong.
func judgeClosed(answer, before string, list []shown) verdict {
	aside, ok := setAside(list, func(rest []shown) bool {
		if slices.ContainsFunc(rest, shown.cursor) {
			return false
		}
		text := lines(rest)
		at := strings.LastIndex(text, "⚠️")
		if at < 0 || !closing.MatchString(strings.TrimSpace(text[at:])) {
			return false
		}
		part := flat(text[:at])
		return strings.HasPrefix(flat(answer), part) && strings.HasPrefix(part, flat(before))
	})
	if ok {
		return weigh(list, aside)
	}
	return verdict{Lost: 1, What: fmt.Sprintf("want what was shown, %s, and the closing line%s", clip(before), describe(list))}
}

// describe lists messages in a form that people can read.
func describe(list []shown) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "\n  message %d (%s): %s", m.id, m.origin, clip(m.text))
	}
	return b.String()
}

// clip returns the beginning and the end of a text, in quotes.
func clip(text string) string {
	const most = 60
	r := []rune(text)
	if len(r) <= 2*most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…%q (%d characters)", string(r[:most]), string(r[len(r)-most:]), len(r))
}
