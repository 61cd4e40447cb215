package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"telex/internal/outside"
	"telex/standin/telegram"
)

// candidate is a bot that the bench can start in a world.
type candidate struct {
	name  string
	shows bool // the bot shows people the model's text
	start func(ctx context.Context, w *world) (bot, error)
}

// bot is one running bot, which consists of one or several processes.
type bot interface {
	usage() (usage, error)
	stop() error
}

// These are the names of the bots with which the bench compares telex.
const (
	naiveBot  = "naive"
	readerBot = "reader"
)

// bots returns the bots of the scenario. telex comes first, and the reader, which only reads the model's streams,
// comes last.
func (s scenario) bots(binary string) []candidate {
	list := []candidate{{"telex", true, func(ctx context.Context, w *world) (bot, error) {
		p, err := startDaemon(ctx, binary, w, s.interval, s.sync)
		if err != nil {
			return nil, err
		}
		if err := p.limit(s.busy.share); err != nil {
			return nil, errors.Join(err, p.stop())
		}
		return p, nil
	}}}
	if s.hourly.conversations > 0 { // the bench can't count the statements of a daemon with SQLite
		list = nil
	}
	for _, n := range s.replicas {
		list = append(list, candidate{fmt.Sprintf("PostgreSQL, %d", n), true, func(ctx context.Context, w *world) (bot, error) {
			return startReplicas(ctx, binary, w, n, s.busy.share)
		}})
	}
	if s.baseline {
		list = append(list, candidate{naiveBot, true, func(ctx context.Context, w *world) (bot, error) {
			return startNaive(ctx, w, cmp.Or(s.interval, telegramEdit))
		}})
	}
	if s.reader {
		list = append(list, candidate{readerBot, false, func(ctx context.Context, w *world) (bot, error) {
			return startNaive(ctx, w, 0)
		}})
	}
	return list
}

// runBots runs the scenario with one bot after the other, and compares telex's figures with their limits.
func (s scenario) runBots(ctx context.Context, binary string) ([]result, error) {
	s.latency = cmp.Or(s.latency, apiLatency)
	if s.api.streams > 0 && len(s.loads) == 0 {
		return s.runAPI(ctx, binary)
	}
	var list []result
	for _, c := range s.bots(binary) {
		r, err := s.run(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("scenario %s, %s: %w", s.name, c.name, err)
		}
		list = append(list, r)
	}
	telex := &list[0]
	ours := slices.DeleteFunc(slices.Clone(list), func(r result) bool { return r.Bot == naiveBot || r.Bot == readerBot })
	for _, r := range ours[1:] {
		if mean, ok := r.Figures[stalenessMean]; ok {
			r.Figures[stalenessToOne] = mean / telex.Figures[stalenessMean]
		}
	}
	if s.starts > 0 {
		var err error
		if telex.Figures[firstPoll], err = startTimes(ctx, binary, s.latency, s.starts); err != nil {
			return nil, err
		}
	}
	if last := list[len(list)-1]; s.reader {
		for _, r := range list {
			r.Figures[cpuToReader] = r.Figures[cpuPerThousand] / last.Figures[cpuPerThousand]
		}
	}
	for _, b := range append(s.always(), s.bars...) {
		if value, ok := worst(ours, b.Measure); ok {
			telex.Bars = append(telex.Bars, verdict{b, value, value <= b.Most})
		}
	}
	return list, nil
}

// worst returns the largest value that a figure has in the results.
func worst(list []result, m measure) (value float64, ok bool) {
	for _, r := range list {
		if v, has := r.Figures[m]; has {
			value, ok = max(value, v), true
		}
	}
	return value, ok
}

// run runs the scenario with one bot in a new world.
func (s scenario) run(ctx context.Context, c candidate) (r result, err error) {
	r = result{Scenario: s.name, Title: s.title, Bot: c.name, Figures: make(map[measure]float64)}
	w, err := newWorld(ctx, worldOptions{latency: s.latency, rate: s.rate, hidden: s.hidden, api: s.api.streams > 0, bots: max(s.busy.bots, s.hourly.bots)})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	b, err := c.start(ctx, w)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	switch {
	case s.busy.people > 0:
		return r, s.busy.measure(ctx, w, b, r.Figures)
	case s.hourly.conversations > 0:
		return r, s.hourly.measure(ctx, w, b, r.Figures)
	}
	return r, s.measure(ctx, w, c, b, r.Figures)
}

// measure lets people ask the bot, one load after the other, and fills in the figures.
func (s scenario) measure(ctx context.Context, w *world, c candidate, b bot, f map[measure]float64) error {
	if err := outside.Pause(ctx, idleFor); err != nil {
		return err
	}
	idle, err := b.usage()
	if err != nil {
		return err
	}
	var stories []story
	var costs, database []float64 // one value for each load, in ms per 1,000 tokens
	var down time.Time
	for _, l := range s.loads {
		before, err := b.usage()
		if err != nil {
			return err
		}
		asked, err := w.ask(l.chats, s.writer(l.tokens))
		if err != nil {
			return err
		}
		endStreams := s.startStreams(ctx, w, w.apiURL, 0)
		if down, err = s.breakDown(ctx, w); err != nil {
			return err
		}
		await := w.awaitFinals
		if !c.shows {
			await = w.awaitStreams
		}
		if err := await(ctx, asked, s.patience(l)); err != nil {
			return err
		}
		if err := endStreams(f); err != nil {
			return err
		}
		if err := outside.Pause(ctx, afterwards); err != nil {
			return err
		}
		after, err := b.usage()
		if err != nil {
			return err
		}
		told := w.stories(asked)
		tokens := 0
		for _, st := range told {
			tokens += st.tokens
		}
		costs = append(costs, (after.cpu-before.cpu).Seconds()*1e6/float64(max(1, tokens)))
		database = append(database, (after.database-before.database).Seconds()*1e6/float64(max(1, tokens)))
		stories = append(stories, told...)
	}
	end, err := b.usage()
	if err != nil {
		return err
	}
	people := 0
	for _, l := range s.loads {
		people = max(people, l.chats)
	}
	f[idleMemory], f[peakMemory] = idle.rss, end.peak
	if people > 0 {
		f[chatMemory] = (end.peak - idle.rss) * 1024 / float64(people)
		f[cpuPerThousand] = mean(costs)
		if n := mean(database); n > 0 {
			f[databaseCPU] = n
		}
	}
	if len(costs) > 1 && s.markdown {
		f[cpuGrowth] = costs[len(costs)-1] / costs[0]
	}
	if len(stories) > 0 && c.shows {
		s.judge(w, stories, f)
	}
	if s.outage.length > 0 {
		s.judgeOutage(w, down, f)
	}
	return nil
}

// writer returns a function that makes answers in the form that this scenario needs.
func (s scenario) writer(tokens int) func(seed uint64) answer {
	if s.markdown {
		return func(seed uint64) answer { return markdownAnswer(seed, tokens) }
	}
	return func(seed uint64) answer { return plainAnswer(seed, tokens) }
}

// patience is how long the bench waits until all answers to a load are complete. An answer that is complete only after this
// time counts as lost.
func (s scenario) patience(l load) time.Duration {
	rate := s.rate
	if rate == 0 {
		rate = 50
	}
	writing := time.Duration(float64(l.tokens) / rate * float64(time.Second))
	sending := time.Duration(3*l.chats) * time.Second / telegramRate
	return writing + sending + s.outage.length + 30*time.Second
}

// breakDown makes the platform unreachable for the duration of the scenario's outage. breakDown returns when the
// outage began.
func (s scenario) breakDown(ctx context.Context, w *world) (time.Time, error) {
	if s.outage.length == 0 {
		return time.Time{}, nil
	}
	if err := outside.Pause(ctx, s.outage.after); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	w.Telegram.Restart(s.outage.length)
	return began, outside.Pause(ctx, s.outage.length)
}

// judge fills in the figures about the text that people saw, and about the calls that the platform counted.
func (s scenario) judge(w *world, stories []story, f map[measure]float64) {
	var ages, finals []float64
	for _, m := range []measure{lost, doubled, shownTwice, frozenLongest} {
		f[m] = 0
	}
	for _, st := range stories {
		ages = append(ages, st.staleness...)
		f[frozenLongest] = max(f[frozenLongest], st.frozen.Seconds())
		f[shownTwice] += float64(st.twice)
		switch {
		case st.lost:
			f[lost]++
		case st.doubled:
			f[doubled]++
		default:
			finals = append(finals, st.final.Seconds())
		}
	}
	f[stalenessMean], f[stalenessP95] = mean(ages), percentile(ages, 95)
	if len(finals) > 0 {
		f[finalMean], f[finalP95] = mean(finals), percentile(finals, 95)
		f[finalLatencies] = f[finalP95] / s.latency.Seconds()
	}
	stats := w.Telegram.Stats()
	f[calls] = float64(len(w.shown()))
	f[forced], f[tooMany] = float64(stats.Forced), float64(stats.TooManyRequests-stats.Forced)
	if s.hidden != (telegram.Limits{}) { // a bot can learn a hidden limit only when the platform refuses a call
		f[hiddenPerChat] = f[tooMany] / float64(len(stories))
		f[tooMany] = 0
	}
	f[longestPart] = float64(w.longestText())
	f[violations] = float64(stats.Violations.Total())
}

// judgeOutage fills in the figures about the bot's calls during an outage.
func (s scenario) judgeOutage(w *world, down time.Time, f map[measure]float64) {
	up := down.Add(s.outage.length)
	chats := float64(s.loads[len(s.loads)-1].chats)
	f[attempts] = float64(w.Connected(down, up)) / chats
	within := func(span time.Duration) float64 {
		n := 0
		for _, c := range w.shown() {
			if !c.At.Before(up) && c.At.Before(up.Add(span)) {
				n++
			}
		}
		return float64(n) / chats
	}
	f[stormCalls], f[laterCalls] = within(time.Second), within(5*time.Second)
}
