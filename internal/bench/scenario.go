package main

import (
	"fmt"
	"time"

	"telex/standin/telegram"
)

const (
	apiLatency   = 60 * time.Millisecond
	telegramRate = 30                      // calls per second to all chats together, the platform's published limit
	telegramEdit = 1500 * time.Millisecond // telex's own edit interval on Telegram
	manyChats    = 1000
	partLimit    = 4096 // in UTF-16 units, https://core.telegram.org/bots/api#sendmessage
	// afterwards is how long a scenario continues after all answers are complete, so that the bench notices superfluous
	// calls.
	afterwards = time.Second
	// idleFor is how long a daemon is idle before its memory is measured.
	idleFor = time.Second
)

// load is a number of chats in which people ask at the same time. tokens is the length of each answer.
type load struct{ chats, tokens int }

// scenario is one measurement. A scenario consists of loads, which a bot gets one after the other, and of the limits
// on the figures.
type scenario struct {
	name, title string
	loads       []load
	rate        float64       // tokens per second of each answer; 0: 50
	latency     time.Duration // duration of each call to the platform; 0: apiLatency
	interval    time.Duration // time between two edits of a message; 0: telex's default for the platform
	markdown    bool          // the answers are Markdown
	outage      outage
	hidden      telegram.Limits // the limits that the platform enforces; they are lower than the published ones
	sync        time.Duration   // delay that is added to each fsync of the daemon's files; 0: no delay
	starts      int             // how often to start the daemon and measure the time until it polls
	baseline    bool            // the naive loop is measured, too
	reader      bool            // the reader, which only reads the streams, is measured, too
	api         apiLoad         // streams of the API server; if there are loads, the streams run at the same time as the loads
	replicas    []int           // numbers of daemons on one PostgreSQL database, with which to measure too
	busy        busy            // if this field is set, it replaces loads
	hourly      hourly          // if this field is set, it replaces loads
	bars        []bar
}

// outage is a time in which the platform refuses all connections. The outage begins when the time in the field after has passed
// since people asked their questions.
type outage struct{ after, length time.Duration }

// bar is the largest allowed value of a figure.
type bar struct {
	Measure measure `json:"measure"`
	Most    float64 `json:"most"`
}

// always returns the limits that apply to every scenario. The limit on violations does not apply if the platform has
// hidden limits: some calls are already under way when the platform refuses a call for the first time.
func (s scenario) always() []bar {
	list := []bar{{lost, 0}, {doubled, 0}, {tooMany, 0}}
	if s.hidden == (telegram.Limits{}) {
		list = append(list, bar{violations, 0})
	}
	return list
}

func scenarios() []scenario {
	crowd := func(chats int, bars ...bar) scenario {
		return scenario{
			name: fmt.Sprintf("crowd-%d", chats), title: fmt.Sprintf("%d chats at once, 400 tokens each, 30 calls/s for all", chats),
			loads: []load{{chats, 400}}, baseline: true, reader: true, bars: append(bars, bar{cpuToReader, 1.8}),
		}
	}
	return []scenario{
		{
			name: "one", title: "1 chat, 400 tokens, an edit a second",
			// The lengths of the answers differ, so that the answers do not all end at the same time after an edit.
			loads: []load{{1, 400}, {1, 415}, {1, 430}}, interval: time.Second, baseline: true, reader: true,
			bars: []bar{{stalenessMean, 0.60}, {finalLatencies, 2.2}, {cpuToReader, 1.6}},
		},
		{
			name: "slow-disk", title: "1 chat, 400 tokens, an edit a second, every sync takes 100 ms",
			loads: []load{{1, 400}, {1, 415}}, interval: time.Second, sync: 100 * time.Millisecond,
			bars: []bar{{stalenessMean, 0.60}, {shownTwice, 0}},
		},
		// At 30 calls per second, sending only the finals of 50 and 150 chats already takes 1.6 and 4.75 s.
		crowd(50, bar{stalenessMean, 1.0}, bar{finalP95, 1.8}),
		crowd(150, bar{stalenessMean, 2.6}, bar{finalP95, 5.0}, bar{peakMemory, 48}),
		{
			name: "long", title: "1 chat, 1,500 tokens at 100/s, 10,000 characters",
			loads: []load{{1, 1500}}, rate: 100, baseline: true,
			bars: []bar{{frozenLongest, 2 * telegramEdit.Seconds()}, {shownTwice, 0}, {longestPart, partLimit}},
		},
		{
			name: "slow-api", title: "1 chat, 400 tokens, API latency 1 s, an edit a second",
			loads: []load{{1, 400}, {1, 425}}, latency: time.Second, interval: time.Second, baseline: true,
			bars: []bar{{finalLatencies, 2.2}},
		},
		{
			name: "outage", title: "10 chats, 600 tokens at 30/s, platform down for 10 s in the middle",
			loads: []load{{10, 600}}, rate: 30, outage: outage{5 * time.Second, 10 * time.Second}, baseline: true,
			// After the outage, each chat needs one call, and the limit allows one more.
			bars: []bar{{stormCalls, 2}, {laterCalls, 5}},
		},
		{
			name: "slow-outage", title: "3 chats, 600 tokens at 30/s, API latency 1 s, platform down for 10 s in the middle",
			loads: []load{{3, 600}}, rate: 30, latency: time.Second, outage: outage{5 * time.Second, 10 * time.Second},
			bars: []bar{{stormCalls, 2}, {laterCalls, 5}, {shownTwice, 0}},
		},
		{
			name: "half", title: "20 chats, 400 tokens, the platform's hidden limits half of what it publishes",
			loads: []load{{20, 400}}, hidden: halfOfPublished(), baseline: true,
			bars: []bar{{hiddenPerChat, 1}, {shownTwice, 0}},
		},
		{
			name: "many", title: "1,000 chats at once, 60 tokens at 5/s each",
			loads: []load{{manyChats, 60}}, rate: 5,
			bars: []bar{{peakMemory, 30 + manyChats*120.0/1024}},
		},
		{
			name: "cpu", title: "1 chat, Markdown of 500 tokens, then of 5,000 tokens",
			loads: []load{{1, 500}, {1, 5000}}, markdown: true, baseline: true, reader: true,
			bars: []bar{{cpuToReader, 1.6}, {cpuGrowth, 1.25}},
		},
		{
			name: "api", title: "the API server: 20 streams at once, 1,500 tokens each",
			api:  apiLoad{streams: 20, tokens: 1500},
			bars: []bar{{addedToFirst, 2}, {cpuToCopier, 1.5}},
		},
		{
			name: "api-crowd", title: "50 chats at once, 400 tokens each, beside a stream of 10,000 tokens from the API server",
			loads: []load{{50, 400}}, api: apiLoad{streams: 1, tokens: 10_000, rate: 1000},
			// The limits on staleness and on finals are the same as in the scenario with 50 chats and
			// without the API stream.
			bars: []bar{{stalenessMean, 1.0}, {finalP95, 1.8}, {shownTwice, 0}},
		},
		{
			name: "idle", title: "nobody writes",
			starts: 5, bars: []bar{{idleMemory, 30}, {firstPoll, 0.100}},
		},
	}
}

// halfOfPublished returns half of the published limits, for a platform whose actual limits are lower than the
// published ones.
func halfOfPublished() telegram.Limits {
	l := telegram.PublishedLimits()
	return telegram.Limits{PrivatePerSecond: l.PrivatePerSecond / 2, PrivateBurst: l.PrivateBurst, GlobalPerSecond: l.GlobalPerSecond / 2}
}

// shortScenarios returns the scenarios that tests run in parallel. The limits on times in short scenarios are generous
// enough for a busy machine and the race detector. The limits on lost, doubled and refused messages are as strict as in
// other scenarios.
func shortScenarios() []scenario {
	return []scenario{
		{
			name: "one", title: "1 chat, 200 tokens, an edit a second", loads: []load{{1, 200}}, interval: time.Second,
			bars: []bar{{stalenessMean, 1.2}, {finalP95, 2}, {shownTwice, 0}, {cpuPerThousand, 600}, {peakMemory, 100}},
		},
		{
			name: "crowd-40", title: "40 chats at once, 150 tokens each", loads: []load{{40, 150}},
			bars: []bar{{finalP95, 6}, {shownTwice, 0}, {cpuPerThousand, 300}, {peakMemory, 150}},
		},
		{
			name: "long", title: "1 chat, 700 tokens at 100/s, more than one message", loads: []load{{1, 700}}, rate: 100,
			bars: []bar{{finalP95, 4}, {frozenLongest, 6}, {shownTwice, 0}, {longestPart, partLimit}},
		},
		{
			name: "outage", title: "3 chats, 250 tokens, platform down for 2 s in the middle", loads: []load{{3, 250}},
			outage: outage{2 * time.Second, 2 * time.Second}, bars: []bar{{finalP95, 10}, {stormCalls, 4}, {laterCalls, 8}},
		},
		{
			name: "half", title: "4 chats, 200 tokens, hidden limits half of the published ones", loads: []load{{4, 200}},
			hidden: halfOfPublished(), bars: []bar{{finalP95, 10}, {shownTwice, 0}, {hiddenPerChat, 3}},
		},
	}
}
