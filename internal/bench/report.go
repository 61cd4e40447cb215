package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// measure is the name of a figure. docs/performance.md explains each figure.
type measure string

const (
	stalenessMean  measure = "staleness_mean_s"
	stalenessP95   measure = "staleness_p95_s"
	frozenLongest  measure = "frozen_longest_s"
	finalMean      measure = "final_mean_s"
	finalP95       measure = "final_p95_s"
	finalLatencies measure = "final_p95_latencies"
	calls          measure = "calls"
	tooMany        measure = "429_unforced"
	forced         measure = "429_forced"
	violations     measure = "violations"
	lost           measure = "lost"
	doubled        measure = "doubled"
	shownTwice     measure = "shown_twice"
	hiddenPerChat  measure = "429_hidden_per_chat"
	longestPart    measure = "longest_part_utf16"
	laterCalls     measure = "after_outage_5s_calls_per_chat"
	attempts       measure = "outage_attempts_per_chat"
	stormCalls     measure = "after_outage_calls_per_chat"
	cpuPerThousand measure = "cpu_ms_per_1000_tokens"
	cpuToReader    measure = "cpu_to_reader"
	cpuGrowth      measure = "cpu_long_to_short"
	idleMemory     measure = "idle_mib"
	peakMemory     measure = "peak_mib"
	chatMemory     measure = "peak_kib_per_chat"
	firstPoll      measure = "first_poll_s"
	firstToken     measure = "first_token_p50_ms"
	addedToFirst   measure = "added_to_first_token_p50_ms"
	tokenDelayP50  measure = "token_delay_p50_ms"
	tokenDelayP95  measure = "token_delay_p95_ms"
	cpuToCopier    measure = "cpu_to_copier"
	wrongStreams   measure = "wrong_streams"

	// The following figures are about several daemons on one database.
	stalenessToOne    measure = "staleness_to_one"
	databaseCPU       measure = "database_cpu_ms_per_1000_tokens"
	answersPerSecond  measure = "answers_per_second"
	cpuPerAnswer      measure = "cpu_ms_per_answer"
	databasePerAnswer measure = "database_cpu_ms_per_answer"
	statementsFirst   measure = "statements_per_message_first"
	statementsLast    measure = "statements_per_message_last"
	statementGrowth   measure = "statements_last_to_first"
	idleStatements    measure = "idle_statements_per_second_before"
	restStatements    measure = "idle_statements_per_second_after"
	memoryGrown       measure = "memory_grown_kib_per_conversation"
	memoryAgain       measure = "memory_grown_again_kib_per_conversation"
)

// row describes how a figure is printed.
type row struct {
	measure  measure
	label    string
	decimals int
}

func rows() []row {
	return []row{
		{stalenessMean, "staleness, mean (s)", 3},
		{stalenessP95, "staleness, p95 (s)", 3},
		{frozenLongest, "longest time frozen (s)", 3},
		{finalMean, "last token to final, mean (s)", 3},
		{finalP95, "last token to final, p95 (s)", 3},
		{finalLatencies, "last token to final, p95 (API latencies)", 2},
		{calls, "calls", 0},
		{tooMany, "calls answered 429, not forced", 0},
		{forced, "calls answered 429, forced by a fault", 0},
		{hiddenPerChat, "calls answered 429 by a hidden limit, per chat", 2},
		{violations, "violations", 0},
		{lost, "lost answers", 0},
		{doubled, "doubled answers", 0},
		{shownTwice, "moments with a wrong or double text", 0},
		{longestPart, "longest message (UTF-16 units)", 0},
		{attempts, "connections during the outage, per chat", 1},
		{stormCalls, "calls in the second after the outage, per chat", 1},
		{laterCalls, "calls in the 5 s after the outage, per chat", 1},
		{cpuPerThousand, "CPU per 1,000 tokens (ms)", 1},
		{cpuToReader, "CPU as a ratio to the bare reader's", 2},
		{cpuGrowth, "CPU per token, long to short", 2},
		{idleMemory, "memory, idle (MiB)", 1},
		{peakMemory, "memory, peak (MiB)", 1},
		{chatMemory, "memory at the peak, per chat (KiB)", 0},
		{firstPoll, "exec to first poll (s)", 3},
		{firstToken, "API: request to first token, p50 (ms)", 2},
		{addedToFirst, "API: the same, more than without telex (ms)", 2},
		{tokenDelayP50, "API: age of a token on arrival, p50 (ms)", 2},
		{tokenDelayP95, "API: age of a token on arrival, p95 (ms)", 2},
		{cpuToCopier, "API: CPU as a ratio to a bare copier's", 2},
		{wrongStreams, "API: streams that are not byte-exact", 0},
		{stalenessToOne, "staleness as a ratio to one daemon with SQLite", 2},
		{databaseCPU, "CPU of the database per 1,000 tokens (ms)", 1},
		{answersPerSecond, "answers per second", 1},
		{cpuPerAnswer, "CPU of the daemons per answer (ms)", 2},
		{databasePerAnswer, "CPU of the database per answer (ms)", 2},
		{statementsFirst, "statements per message, the first tenth", 1},
		{statementsLast, "statements per message, the last tenth", 1},
		{statementGrowth, "statements per message, last to first", 2},
		{idleStatements, "statements per second before anybody has written", 1},
		{restStatements, "statements per second afterwards, when nobody writes", 1},
		{memoryGrown, "memory grown in the first hour, per conversation (KiB)", 1},
		{memoryAgain, "memory grown in the last hour, per conversation (KiB)", 1},
	}
}

// result contains the figures of one bot in one scenario.
type result struct {
	Scenario string              `json:"scenario"`
	Title    string              `json:"title"`
	Bot      string              `json:"bot"`
	Figures  map[measure]float64 `json:"figures"`
	Bars     []verdict           `json:"bars,omitempty"`
}

// verdict contains the limit of a figure, the value of the figure, and whether the value is within the limit. If the scenario
// measured several numbers of daemons, the value is the worst of the measured values.
type verdict struct {
	bar
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
}

// printScenario prints the figures of all bots in s in columns, and the limits.
func printScenario(out io.Writer, s scenario, cols []result) {
	fmt.Fprintf(out, "\n%s: %s\n", s.name, s.title)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer t.Flush() //nolint:errcheck // if the output is closed, the error can't be reported
	for _, c := range cols {
		fmt.Fprint(t, "\t", c.Bot)
	}
	fmt.Fprintln(t, "\tbar\t\t")
	for _, w := range rows() {
		if !slices.ContainsFunc(cols, func(c result) bool { _, ok := c.Figures[w.measure]; return ok }) {
			continue
		}
		fmt.Fprint(t, w.label)
		for _, c := range cols {
			fmt.Fprint(t, "\t", w.figure(c.Figures))
		}
		fmt.Fprintf(t, "\t%s\t\n", w.judged(cols[0].Bars))
	}
}

func (w row) figure(f map[measure]float64) string {
	v, ok := f[w.measure]
	if !ok {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', w.decimals, 64)
}

// judged returns the limit of the row's figure in words, and whether the figure is within the limit.
func (w row) judged(bars []verdict) string {
	for _, b := range bars {
		if b.Measure != w.measure {
			continue
		}
		sign := "ok"
		if !b.Met {
			sign = "MISSED"
		}
		return "≤ " + strconv.FormatFloat(b.Most, 'f', w.decimals, 64) + "\t" + sign
	}
	return "\t"
}

// printSummary prints the figures that exceed their limit, and the number of all limits. printSummary returns how many
// figures exceed their limit.
func printSummary(out io.Writer, results []result) (missed int) {
	bars := 0
	fmt.Fprintln(out)
	for _, r := range results {
		for _, b := range r.Bars {
			bars++
			if !b.Met {
				missed++
				fmt.Fprintf(out, "MISSED: %s: %s is %.4g, bar %.4g\n", r.Scenario, b.Measure, b.Value, b.Most)
			}
		}
	}
	fmt.Fprintf(out, "%d of %d bars met\n", bars-missed, bars)
	return missed
}
