package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"telex/internal/outside"
)

// maxRecovery is how long a reply of a killed daemon may stand still: the lease of 5 s, and the time to take the chat over.
const maxRecovery = 8 * time.Second

// maxInterruption is how long a restart in order may interrupt a reply, beyond the interval of its edits.
const maxInterruption = 2 * time.Second

// editInterval is telex's own interval between two edits, the longest of the three platforms.
const editInterval = 1500 * time.Millisecond

// clusterResult is what people were left with, and how long they waited.
type clusterResult struct {
	Replicas int     `json:"replicas"`
	Chats    int     `json:"chats"`
	Minutes  float64 `json:"minutes"`
	Seed     uint64  `json:"seed"`
	Answers  int     `json:"answers"`
	Requests int     `json:"requests"` // to the model; more than answers, since a killed daemon's answers begin anew
	talkVerdict
	Events    []event        `json:"events"`
	ByReplica map[string]int `json:"by_replica"` // requests to the model
	First     spread         `json:"first"`      // from a question to the model's request, where no other question waited
	Recovery  spread         `json:"recovery"`   // from a kill until a growing reply of the killed daemon went on: the model was asked again, or the rest shown
	Grown     spread         `json:"grown"`      // until people saw a change: the model begins anew, and has to write more than was shown
	Quiet     spread         `json:"quiet"`      // the longest time between two changes of a reply, with no event near
	Disturbed spread         `json:"disturbed"`  // the same, with an event meanwhile
	Longest   string         `json:"longest"`    // of all these times
	Errors    map[string]int `json:"errors"`     // how often the daemons' logs say what
	rolling   bool
}

// spread is a distribution of times in seconds.
type spread struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spreadOf(list []time.Duration) spread {
	if len(list) == 0 {
		return spread{}
	}
	slices.Sort(list)
	at := func(percent int) float64 { return list[(len(list)*percent+99)/100-1].Seconds() }
	return spread{len(list), at(50), at(99), at(100)}
}

func (s spread) String() string {
	return fmt.Sprintf("%d times, p50 %.2f s, p99 %.2f s, max %.2f s", s.N, s.P50, s.P99, s.Max)
}

// bad reports whether a person saw something wrong, or waited too long.
func (r clusterResult) bad() bool {
	return r.talkVerdict.bad() || r.late()
}

func (r clusterResult) late() bool {
	if r.rolling {
		return r.Disturbed.Max > (editInterval + maxInterruption).Seconds()
	}
	return r.Recovery.Max > maxRecovery.Seconds()
}

// judge ends the daemons and reads the records of the stand-ins.
func (c *cluster) judge(ctx context.Context) (r clusterResult, err error) {
	r = clusterResult{Replicas: len(c.replicas), Chats: c.chats, Minutes: c.length.Minutes(), Seed: c.seed, rolling: c.rolling, ByReplica: make(map[string]int), Errors: make(map[string]int)}
	for _, d := range c.replicas {
		if err := d.process.Stop(); err != nil {
			r.add(talkVerdict{Other: 1, What: d.name + ": " + err.Error() + "\n"})
		}
	}
	for _, e := range c.events {
		if e.What == endedItself {
			r.add(talkVerdict{Other: 1, What: e.Replica + " " + endedItself + "\n"})
		}
	}
	if err := c.replicas[0].checkStore(ctx); err != nil {
		r.add(talkVerdict{Other: 1, What: err.Error() + "\n"})
	}
	remembered, err := c.memory(ctx)
	if err != nil {
		return r, err
	}
	for _, t := range c.talks {
		r.add(t.judgeMemory(remembered[t.place.name()+":"+t.place.id()]))
	}
	if n, what := c.limitViolations(); n > 0 {
		r.add(talkVerdict{Limits: n, What: what})
	}
	runs := c.runs()
	for _, list := range runs {
		r.Requests += len(list)
		for _, run := range list {
			r.ByReplica[run.replica]++
		}
	}
	var worst time.Duration
	var first, recovery, grown, quiet, disturbed []time.Duration
	for _, t := range c.talks {
		posts := t.place.posts()
		r.Answers += len(t.asked)
		r.add(t.judge(posts))
		first = append(first, t.waits(runs)...)
		for _, e := range c.events {
			if e.What != killed {
				continue
			}
			if mark, ok := growing(posts, e.At); ok && owner(runs[mark], e.At) == e.Replica {
				change := nextChange(posts, e.At)
				grown = append(grown, change)
				if again := slices.IndexFunc(runs[mark], func(run modelRun) bool { return run.at.After(e.At) }); again >= 0 {
					change = min(change, runs[mark][again].at.Sub(e.At))
				}
				recovery = append(recovery, change)
			}
		}
		if t.place.limited() {
			continue
		}
		for _, p := range posts {
			gap, at, calm := c.longestGap(p)
			if gap > worst {
				worst = gap
				r.Longest = fmt.Sprintf("%.1f s from %s in %s, chat %d: %s", gap.Seconds(), at.Format("15:04:05.0"), t.place.name(), t.number, clip(p.text()))
			}
			if calm {
				quiet = append(quiet, gap)
			} else {
				disturbed = append(disturbed, gap)
			}
		}
	}
	r.Events = c.events
	if err := outside.WriteJSON(filepath.Join(c.dir, "telegram.json"), c.world.Telegram.Calls()); err != nil {
		return r, err
	}
	r.First, r.Recovery, r.Grown = spreadOf(first), spreadOf(recovery), spreadOf(grown)
	r.Quiet, r.Disturbed = spreadOf(quiet), spreadOf(disturbed)
	for _, d := range c.replicas {
		if err := d.errorsIn(r.Errors); err != nil {
			return r, err
		}
	}
	return r, nil
}

// memory returns what the database remembers of each chat, in its order.
func (c *cluster) memory(ctx context.Context) (map[string][]string, error) {
	rows, err := c.database.Query(ctx, c.name, "SELECT endpoint || ':' || chat || ' ' || convert_from(body, 'UTF8') FROM entry JOIN conversation ON conversation.id = entry.conversation ORDER BY entry.id")
	list := make(map[string][]string)
	for _, row := range rows {
		chat, body, _ := strings.Cut(row, " ")
		var m struct{ Text string }
		err = errors.Join(err, json.Unmarshal([]byte(body), &m))
		list[chat] = append(list[chat], m.Text)
	}
	return list, err
}

// judgeMemory compares what the database remembers with the questions and answers: each once, in their order.
func (t *talk) judgeMemory(texts []string) (v talkVerdict) {
	if len(texts) != 2*len(t.asked) {
		v.Other++
		v.note("%s, chat %d: %d texts are remembered, want %d", t.place.name(), t.number, len(texts), 2*len(t.asked))
		return v
	}
	var places []int
	for _, q := range t.asked {
		at := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, q.mark) })
		places = append(places, at)
		if at < 0 || at%2 > 0 || texts[at+1] != q.want {
			v.Other++
			v.note("%s, chat %d: the question %s and its answer are not remembered side by side", t.place.name(), t.number, q.mark)
		}
	}
	for _, what := range t.disordered(places) {
		v.Other++
		v.note("%s, chat %d: in what is remembered, %s", t.place.name(), t.number, what)
	}
	return v
}

// modelRun is one request to the model.
type modelRun struct {
	at      time.Time
	replica string
}

// marks matches the mark of a question.
var marks = regexp.MustCompile(`A\d+x\d+z`)

// runs returns the requests to the model for each mark, in their order.
func (c *cluster) runs() map[string][]modelRun {
	list := make(map[string][]modelRun)
	for _, r := range c.world.Model.Requests() {
		if mark := marks.FindString(r.Question); mark != "" {
			list[mark] = append(list[mark], modelRun{r.Time, r.Header.Get(replicaHeader)})
		}
	}
	return list
}

// owner returns the replica that asked the model last before a time.
func owner(list []modelRun, at time.Time) (replica string) {
	for _, r := range list {
		if r.at.Before(at) {
			replica = r.replica
		}
	}
	return replica
}

// growing returns the mark of the answer that looked unfinished at a time.
func growing(posts []post, at time.Time) (mark string, ok bool) {
	for _, p := range posts {
		text, visible := p.at(at)
		if !visible {
			continue
		}
		if found := marks.FindString(text); found != "" {
			mark = found
		}
		if strings.HasSuffix(text, cursor) {
			return mark, mark != ""
		}
	}
	return "", false
}

// nextChange returns the time until something in a chat changed.
func nextChange(posts []post, after time.Time) time.Duration {
	next := time.Duration(-1)
	for _, p := range posts {
		for _, v := range p.versions {
			if d := v.at.Sub(after); d > 0 && (next < 0 || d < next) {
				next = d
			}
		}
	}
	if next < 0 {
		next = time.Since(after) // never
	}
	return next
}

// waits returns the times from the questions to the model's first request for them. It leaves out questions that waited for the
// answer to another one.
func (t *talk) waits(runs map[string][]modelRun) (list []time.Duration) {
	for i, q := range t.asked {
		if r := runs[q.mark]; len(r) > 0 && (i == 0 || q.at.Sub(t.asked[i-1].at) > 15*time.Second) {
			list = append(list, r[0].at.Sub(q.at))
		}
	}
	return list
}

// near is how long an event has effects.
const near = 15 * time.Second

// longestGap returns the longest time between two changes of a message and its beginning, and reports whether no event was near.
func (c *cluster) longestGap(p post) (gap time.Duration, since time.Time, calm bool) {
	from, to := p.versions[0].at, p.versions[len(p.versions)-1].at
	calm = !slices.ContainsFunc(c.events, func(e event) bool { return e.At.Add(near).After(from) && e.At.Before(to) })
	for i := range p.versions[1:] {
		if d := p.versions[i+1].at.Sub(p.versions[i].at); d > gap {
			gap, since = d, p.versions[i].at
		}
	}
	return gap, since, calm
}

func (r clusterResult) print(out io.Writer) {
	fmt.Fprint(out, r.What)
	for _, what := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(out, "logged as an error, %d times: %s\n", r.Errors[what], clip(what))
	}
	count := func(what string) (n int) {
		for _, e := range r.Events {
			if e.What == what {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(out, "%d replicas, %d chats, %g minutes, seed %d: %d killed, %d paused, %d restarted\n",
		r.Replicas, r.Chats, r.Minutes, r.Seed, count(killed), count(paused), count(restarted))
	fmt.Fprintf(out, "answers %d, requests to the model %d, by replica %v\n", r.Answers, r.Requests, r.ByReplica)
	fmt.Fprintf(out, "lost %d, doubled %d, cursors %d, out of order %d, beyond limits %d, other %d\n",
		r.Lost, r.Doubled, r.Cursors, r.Disordered, r.Limits, r.Other)
	fmt.Fprintf(out, "question to the model's request:   %v\n", r.First)
	fmt.Fprintf(out, "reply of a killed replica goes on: %v (bar %v)\n", r.Recovery, maxRecovery)
	fmt.Fprintf(out, "  people see a change:             %v\n", r.Grown)
	fmt.Fprintf(out, "longest pause of a reply, quiet:   %v\n", r.Quiet)
	fmt.Fprintf(out, "  with an event meanwhile:         %v\n", r.Disturbed)
	fmt.Fprintf(out, "  the longest:                     %s\n", r.Longest)
}
