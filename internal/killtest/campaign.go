package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"
)

// errNeverHit means that the situation in which the trial wanted to kill the daemon never occurred.
var errNeverHit = errors.New("the instant never comes")

// campaign describes one run of the program killtest.
type campaign struct {
	binary   string
	seed     uint64
	parallel int
	only     int // of each kind of trial, run only the trial with this number; negative: run all trials
	out      io.Writer
}

// result describes the outcome of all trials of one kind.
type result struct {
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Trials  int    `json:"trials"`
	Kills   int    `json:"kills"`
	Missed  int    `json:"missed"` // how often a trial was repeated because the situation for its kill never occurred
	Answers int    `json:"answers"`
	Bad     int    `json:"bad"` // number of trials with a mistake (verdict.bad)
	verdict
}

// run runs all trials, several at the same time. run returns the results in the order of the kinds.
func (c campaign) run(ctx context.Context, list []kind) ([]result, error) {
	var mu sync.Mutex // guards results and out
	results := make([]result, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.parallel))
	for i, k := range list {
		results[i].Kind, results[i].Title = k.name, k.title
		for number := range k.trials {
			if c.only >= 0 && c.only != number {
				continue
			}
			group.Go(func() error {
				o, err := c.try(ctx, k, number)
				if err != nil {
					return fmt.Errorf("kind %s, trial %d: %w", k.name, number, err)
				}
				mu.Lock()
				defer mu.Unlock()
				results[i].add(o)
				if o.bad() {
					fmt.Fprintf(c.out, "%s, trial %d (-seed %d): %s\n", k.name, number, c.seed, o.What)
				}
				return nil
			})
		}
	}
	return results, group.Wait()
}

// tries is the maximum number of attempts of a trial. An attempt fails if the situation for its kill never occurs, for example
// because the daemon makes fewer edits than the plan assumes.
const tries = 5

// try runs one trial. If the situation for a kill does not occur, try makes a new plan and repeats the trial.
func (c campaign) try(ctx context.Context, k kind, number int) (o outcome, err error) {
	random, missed := seeded(c.seed, k.name, number), 0
	for range tries {
		if o, err = k.plan(random, number+missed).run(ctx, c.binary); err != nil || o.hit {
			o.missed = missed
			return o, err
		}
		missed++
	}
	return o, errNeverHit
}

func (r *result) add(o outcome) {
	r.Trials++
	r.Missed += o.missed
	r.Kills += o.kills
	r.Answers += o.answers
	r.verdict.add(o.verdict)
	if o.bad() {
		r.Bad++
	}
}

// printTable prints the results, and returns the number of trials with a mistake.
func printTable(out io.Writer, results []result) (bad int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }
	row("kind", "kills", "missed", "answers", "lost", "doubled", "cursors", "limits", "other", "|", "uncertain", "twice", "with cursor")
	sum := result{Kind: "all"}
	line := func(r result) {
		cells := []string{r.Kind}
		for _, n := range []int{r.Kills, r.Missed, r.Answers, r.Lost, r.Doubled, r.Cursors, r.Limits, r.Other} {
			cells = append(cells, strconv.Itoa(n))
		}
		cells = append(cells, "|")
		for _, n := range []int{r.Uncertain, r.UncertainTwice, r.UncertainCursors} {
			cells = append(cells, strconv.Itoa(n))
		}
		row(cells...)
	}
	for _, r := range results {
		line(r)
		sum.Kills += r.Kills
		sum.Missed += r.Missed
		sum.Answers += r.Answers
		sum.verdict.add(r.verdict)
		bad += r.Bad
	}
	line(sum)
	_ = w.Flush() // if the output is closed, the error can't be reported
	return bad
}
