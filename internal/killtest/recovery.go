package main

import (
	"slices"
	"strings"
	"time"

	"telex/standin/openai"
)

// maxRecovery is how long a reply of a killed daemon may not grow: the lease of 5 s, and the time to take the chat
// over.
const maxRecovery = 8 * time.Second

// recovery describes how a reply continued that was growing when its daemon was killed. All times count from the kill.
type recovery struct {
	Place string    `json:"place"`
	Mark  string    `json:"mark"`
	At    time.Time `json:"at"`
	// TakenUp is the first sign of another daemon: it called the model again, or changed a message.
	TakenUp time.Duration `json:"taken_up"`
	// Grown is when people saw more text. The model starts over, so it must first write more text than was visible
	// before.
	Grown time.Duration `json:"grown"`
	// Rewriting is the part of Grown in which the model wrote visible text again.
	Rewriting time.Duration `json:"rewriting"`
	// Again reports that another fault happened before the reply grew, such as a pause of the daemon that had taken it
	// over.
	Again bool `json:"again"`
}

// ours is the part of Grown that telex itself is responsible for.
func (r recovery) ours() time.Duration { return r.Grown - r.Rewriting }

// recoveries describes how the replies of a chat continued that were growing when their daemon was killed.
func (c *cluster) recoveries(t *talk, posts []post, runs map[string][]modelRun) (list []recovery) {
	for _, e := range c.events {
		if e.What != killed {
			continue
		}
		mark, shown, ok := growing(posts, e.At)
		if !ok || owner(runs[mark], e.At) != e.Replica {
			continue
		}
		r := recovery{Place: t.place.name(), Mark: mark, At: e.At, Grown: nextChange(posts, e.At)}
		r.TakenUp = r.Grown
		for _, run := range runs[mark] {
			began := run.at.Sub(e.At)
			if began <= 0 || began > r.Grown {
				continue
			}
			r.TakenUp = min(r.TakenUp, began)
			r.Rewriting = max(0, min(run.wrote(shown).Sub(e.At), r.Grown)-began) // the last run is the one that people see
		}
		r.Again = slices.ContainsFunc(c.events, func(other event) bool {
			return other.fault() && other.At.After(e.At) && other.At.Before(e.At.Add(r.Grown))
		})
		list = append(list, r)
	}
	return list
}

// modelRun is one request to the model.
type modelRun struct {
	at      time.Time
	replica string
	marks   []openai.Mark // when how much of the answer was written
}

// wrote returns when the model had written more than the given number of bytes, or otherwise when it stopped.
func (r modelRun) wrote(bytes int) time.Time {
	if len(r.marks) == 0 {
		return r.at
	}
	i := slices.IndexFunc(r.marks, func(m openai.Mark) bool { return m.Bytes > bytes })
	if i < 0 {
		i = len(r.marks) - 1
	}
	return r.marks[i].Time
}

// runs returns the requests to the model for each mark, in their order.
func (c *cluster) runs() map[string][]modelRun {
	list := make(map[string][]modelRun)
	for _, r := range c.world.Model.Requests() {
		if mark := marks.FindString(r.Question); mark != "" {
			list[mark] = append(list[mark], modelRun{r.Time, r.Header.Get(replicaHeader), r.Marks})
		}
	}
	return list
}

// owner returns the replica that called the model last before a time.
func owner(list []modelRun, at time.Time) (replica string) {
	for _, r := range list {
		if r.at.Before(at) {
			replica = r.replica
		}
	}
	return replica
}

// growing returns the mark of the answer that looked unfinished at a time, and how many bytes of it were shown.
func growing(posts []post, at time.Time) (mark string, shown int, ok bool) {
	for _, p := range posts {
		text, visible := p.at(at)
		if !visible {
			continue
		}
		if found := marks.FindString(text); found != "" && found != mark {
			mark, shown = found, 0
		}
		text, unfinished := strings.CutSuffix(text, cursor)
		if shown += len(text); unfinished {
			return mark, shown, mark != ""
		}
	}
	return "", 0, false
}

// nextChange returns the time until the next change in a chat. Calls that a killed daemon had begun still take effect
// at once, so they don't count.
func nextChange(posts []post, after time.Time) time.Duration {
	next := time.Duration(-1)
	for _, p := range posts {
		for _, v := range p.versions {
			if d := v.at.Sub(after); d > underWay+latency && (next < 0 || d < next) {
				next = d
			}
		}
	}
	if next < 0 {
		next = time.Since(after) // never
	}
	return next
}
