package main

import (
	"slices"
	"strings"
	"time"

	"telex/standin/openai"
)

// maxRecovery is the maximum time in which a reply may stand still after its daemon was killed. maxRecovery consists of 5 s
// until the daemon's lease ends, and of the time that another daemon needs to take over the chat.
const maxRecovery = 8 * time.Second

// recovery describes how a growing reply continued after its daemon was killed. All durations in a recovery begin at
// the kill.
type recovery struct {
	Place string    `json:"place"`
	Mark  string    `json:"mark"`
	At    time.Time `json:"at"`
	// TakenUp is the time until another daemon continued the reply: it called the model for the reply, or changed a message, for
	// the first time.
	TakenUp time.Duration `json:"taken_up"`
	// Grown is the time until people saw more text. After the kill, the model begins the answer again, so the model must first
	// write the text that people already see.
	Grown time.Duration `json:"grown"`
	// Rewriting is the part of Grown in which the model wrote the text again that was already visible.
	Rewriting time.Duration `json:"rewriting"`
	// Again means that another fault happened before the reply grew again. An example of another fault: the daemon that had taken
	// over the reply was paused.
	Again bool `json:"again"`
}

// ours is the part of Grown for which telex is responsible. ours does not include the time in which the model wrote
// the visible text again.
func (r recovery) ours() time.Duration { return r.Grown - r.Rewriting }

// recoveries describes how replies in a chat continued after a kill. recoveries considers only replies that were
// growing when their daemon was killed.
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
			r.Rewriting = max(0, min(run.wrote(shown).Sub(e.At), r.Grown)-began) // the last request made the visible answer
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
	marks   []openai.Mark // the times at which the model had written a certain length of the answer
}

// wrote returns when the model had written more than the given number of bytes. If the model never wrote more than this, wrote
// returns when the model stopped.
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

// runs returns the requests to the model in order, grouped by the word that identifies their question.
func (c *cluster) runs() map[string][]modelRun {
	list := make(map[string][]modelRun)
	for _, r := range c.world.Model.Requests() {
		if mark := marks.FindString(r.Question); mark != "" {
			list[mark] = append(list[mark], modelRun{r.Time, r.Header.Get(replicaHeader), r.Marks})
		}
	}
	return list
}

// owner returns the replica that made the last request to the model before the given time.
func owner(list []modelRun, at time.Time) (replica string) {
	for _, r := range list {
		if r.at.Before(at) {
			replica = r.replica
		}
	}
	return replica
}

// growing returns the identifying word of the answer that was incomplete at the given time, and how many bytes of this answer
// were visible.
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

// nextChange returns the time until the next change in a chat. nextChange ignores changes shortly after a kill, because they
// may come from calls that the killed daemon had begun.
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
		next = time.Since(after) // nothing has changed since the kill
	}
	return next
}
