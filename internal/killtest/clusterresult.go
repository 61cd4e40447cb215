package main

import (
	"cmp"
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

// clusterResult describes which answers people saw, and how long they waited.
type clusterResult struct {
	Replicas int     `json:"replicas"`
	Chats    int     `json:"chats"`
	Minutes  float64 `json:"minutes"`
	Seed     uint64  `json:"seed"`
	Answers  int     `json:"answers"`
	// Requests is the number of requests to the model. Requests can exceed the number of answers, because the model begins an
	// answer again after its daemon was killed.
	Requests int `json:"requests"`
	talkVerdict
	Events []event `json:"events"`
	// ByReplica is the number of requests to the model by replica.
	ByReplica map[string]int `json:"by_replica"`
	// First is the time from a question to the first request to the model for this question. First does not include
	// questions that waited for an earlier answer.
	First spread `json:"first"`
	// Recovery is the time from a kill until another daemon continued a growing reply of the killed daemon.
	Recovery spread `json:"recovery"`
	// Grown is the time from a kill until people saw more text. In a part of this time, the model writes again the text that
	// people already see.
	Grown spread `json:"grown"`
	// GrownOnce is like Grown, without the replies that a second fault hit before they grew.
	GrownOnce spread `json:"grown_once"`
	// Ours is GrownOnce minus the time in which the model wrote the visible text again, so telex is responsible for it.
	Ours      spread            `json:"ours"`
	Quiet     map[string]spread `json:"quiet"`     // interruptions of growing replies without an event shortly before, by platform
	Disturbed map[string]spread `json:"disturbed"` // interruptions during or shortly after an event, by platform
	Longest   []string          `json:"longest"`   // descriptions of the longest interruptions
	Recovered []recovery        `json:"recovered"`
	Errors    map[string]int    `json:"errors"` // number of errors in the daemons' logs, by the text of the error
	rolling   bool
}

// spread describes the distribution of a number of times, in seconds.
type spread struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spreadOf(list []time.Duration) spread {
	if len(list) == 0 {
		return spread{}
	}
	slices.Sort(list)
	at := func(percent int) float64 { return list[(len(list)*percent+99)/100-1].Seconds() }
	return spread{len(list), at(50), at(95), at(99), at(100)}
}

// spreadBy computes a time for each element that meets all conditions, and returns the distribution of these times.
func spreadBy[E any](list []E, of func(E) time.Duration, conditions ...func(E) bool) spread {
	var times []time.Duration
	for _, e := range list {
		if !slices.ContainsFunc(conditions, func(ok func(E) bool) bool { return !ok(e) }) {
			times = append(times, of(e))
		}
	}
	return spreadOf(times)
}

func (s spread) String() string {
	return fmt.Sprintf("%d times, p50 %.2f s, p95 %.2f s, p99 %.2f s, max %.2f s", s.N, s.P50, s.P95, s.P99, s.Max)
}

// bad reports whether the run found a mistake, or whether a person waited too long.
func (r clusterResult) bad() bool {
	return r.talkVerdict.bad() || r.late()
}

func (r clusterResult) late() bool {
	if r.rolling {
		for name, stood := range r.Disturbed {
			if stood.Max > r.Quiet[name].P99+maxInterruption.Seconds() {
				return true
			}
		}
		return false
	}
	return r.Recovery.Max > maxRecovery.Seconds()
}

// judge stops the daemons, and compares what people saw, according to the stand-ins, with the expected answers.
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
	var first []time.Duration
	posts := make([][]post, len(c.talks))
	for i, t := range c.talks {
		posts[i] = t.place.posts()
		r.Answers += len(t.asked)
		r.add(t.judge(posts[i]))
		first = append(first, t.waits(runs)...)
		r.Recovered = append(r.Recovered, c.recoveries(t, posts[i], runs)...)
	}
	r.First = spreadOf(first)
	r.Recovery = spreadBy(r.Recovered, func(r recovery) time.Duration { return r.TakenUp })
	r.Grown = spreadBy(r.Recovered, func(r recovery) time.Duration { return r.Grown })
	once := func(r recovery) bool { return !r.Again }
	r.GrownOnce = spreadBy(r.Recovered, func(r recovery) time.Duration { return r.Grown }, once)
	r.Ours = spreadBy(r.Recovered, recovery.ours, once)
	r.interrupted(c.interruptions(posts))
	r.Events = c.events
	if err := outside.WriteJSON(filepath.Join(c.dir, "telegram.json"), c.world.Telegram.Calls()); err != nil {
		return r, err
	}
	for _, d := range c.replicas {
		if err := d.errorsIn(r.Errors); err != nil {
			return r, err
		}
	}
	for what, n := range r.Errors {
		if strings.Contains(what, "panic") { // telex survives a panic, but the test counts every panic as a mistake
			r.add(talkVerdict{Other: n, What: "logged: " + what + "\n"})
		}
	}
	return r, nil
}

// memory reads the history of each chat from the database, in the order of the messages.
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

// judgeMemory checks that the history in the database contains each question and its answer exactly once, and in order.
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

// marks matches a word, such as A12x3z, that identifies a question and its answer.
var marks = regexp.MustCompile(`A\d+x\d+z`)

// waits returns for each question the time until the first request to the model for this question. waits leaves out a
// question that came shortly after another one, because it may have waited for the earlier answer.
func (t *talk) waits(runs map[string][]modelRun) (list []time.Duration) {
	for i, q := range t.asked {
		if r := runs[q.mark]; len(r) > 0 && (i == 0 || q.at.Sub(t.asked[i-1].at) > 15*time.Second) {
			list = append(list, r[0].at.Sub(q.at))
		}
	}
	return list
}

// interrupted fills in the figures about the times in which replies stood still.
func (r *clusterResult) interrupted(list []interruption) {
	length := func(i interruption) time.Duration { return i.Duration }
	r.Quiet, r.Disturbed = make(map[string]spread), make(map[string]spread)
	for _, name := range []string{"telegram", "discord", "slack"} {
		here := func(i interruption) bool { return i.place == name }
		r.Quiet[name] = spreadBy(list, length, here, func(i interruption) bool { return i.calm })
		r.Disturbed[name] = spreadBy(list, length, here, func(i interruption) bool { return !i.calm })
	}
	slices.SortFunc(list, func(a, b interruption) int { return cmp.Compare(b.Duration, a.Duration) })
	for _, i := range list[:min(5, len(list))] {
		r.Longest = append(r.Longest, i.where)
	}
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
	fmt.Fprintf(out, "question to the model's request: %v\n", r.First)
	fmt.Fprintf(out, "reply of a killed replica: taken up %v (bar %v)\n", r.Recovery, maxRecovery)
	fmt.Fprintf(out, "  people see it grow:            %v\n", r.Grown)
	fmt.Fprintf(out, "  with no second fault:          %v\n", r.GrownOnce)
	fmt.Fprintf(out, "  and without the rewriting:     %v\n", r.Ours)
	fmt.Fprintf(out, "replies stood still beyond their pace (bar of -rolling: at most %v beyond the p99 of quiet times)\n", maxInterruption)
	for _, name := range slices.Sorted(maps.Keys(r.Quiet)) {
		fmt.Fprintf(out, "  %-30s %v\n", name+", quiet:", r.Quiet[name])
		fmt.Fprintf(out, "    %-28s %v\n", "with an event:", r.Disturbed[name])
	}
	fmt.Fprintln(out, "  the longest:")
	for _, where := range r.Longest {
		fmt.Fprintf(out, "    %s\n", where)
	}
}
