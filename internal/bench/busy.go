package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"telex/internal/outside"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// busy is a load without pauses: people ask again as soon as they get an answer, and the model writes each answer without
// delay. telex makes at most 30 calls a second for each bot, so the load uses many bots. With many bots, the processor is the
// only limit on the number of answers.
type busy struct {
	people, bots int
	length       time.Duration
	share        float64 // fraction of one processor that each daemon may use; 0: all processors
}

// warmUp is how long people ask questions before the measurement begins.
const warmUp = 3 * time.Second

// atOnce makes the model write the same answer to every question, at full speed.
func atOnce(w *world, tokens int) (answer string, err error) {
	answer = plainAnswer(1, tokens).text
	return answer, w.Model.Rule(openai.Rule{Do: fmt.Sprintf("rate=0 say=%q", answer)})
}

// crowd consists of people who write to the bots of a world, to each bot in turn.
type crowd struct {
	bots     []*telegram.Server
	answered chan int // receives the number of each person who has seen an answer
	watching sync.WaitGroup
}

// crowd returns people who can write until ctx ends. crowd switches the platform's limits off.
func (w *world) crowd(ctx context.Context, answer string) *crowd {
	c := &crowd{bots: append([]*telegram.Server{w.Telegram}, w.bots...), answered: make(chan int)}
	for _, s := range c.bots {
		s.SetLimits(telegram.NoLimits(), telegram.Limits{})
		events := s.Watch(ctx)
		c.watching.Go(func() {
			for e := range events {
				if m := e.Message; m == nil || !m.FromBot || e.Kind != "message" && e.Kind != "edit" || m.Text() != answer {
					continue
				}
				select {
				case c.answered <- int(e.Chat - firstUser):
				case <-ctx.Done():
				}
			}
		})
	}
	return c
}

func (c *crowd) say(person int, text string) {
	c.bots[person%len(c.bots)].Say(telegram.Incoming{User: int64(firstUser + person), Text: text})
}

func (b busy) measure(ctx context.Context, w *world, bot bot, f map[measure]float64) error {
	answer, err := atOnce(w, 150)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, warmUp+b.length+2*startPatience)
	c := w.crowd(ctx, answer)
	defer c.watching.Wait()
	defer cancel()
	asked := make([]int, b.people)
	ask := func(person int) {
		c.say(person, fmt.Sprint("Question ", asked[person]))
		asked[person]++
	}
	for person := range b.people {
		ask(person)
	}
	var from, to usage
	answers, began := 0, time.Time{}
	missing := b.people
	for warm := time.Now().Add(warmUp); missing > 0; {
		select {
		case person := <-c.answered:
			if to.cpu > 0 { // after the measurement, send nothing more and wait only for the last answers, so that the daemons can stop
				missing--
				continue
			}
			ask(person)
		case <-ctx.Done():
			return fmt.Errorf("people were not answered any more: %d answers", answers)
		}
		switch now := time.Now(); {
		case began.IsZero() && now.After(warm):
			began = now
			from, err = bot.usage()
		case !began.IsZero():
			answers++
			if now.After(began.Add(b.length)) {
				to, err = bot.usage()
				f[answersPerSecond] = float64(answers) / now.Sub(began).Seconds()
			}
		}
		if err != nil {
			return err
		}
	}
	f[cpuPerAnswer] = (to.cpu - from.cpu).Seconds() * 1000 / float64(answers)
	if database := to.database - from.database; database > 0 {
		f[databasePerAnswer] = database.Seconds() * 1000 / float64(answers)
	}
	f[peakMemory] = to.peak
	return nil
}

// hourly is a load of many conversations. In each conversation, a person writes one message an hour. The field hour is the
// length of an hour in this scenario, which is shorter than a real hour.
type hourly struct {
	conversations int
	bots          int // number of bots; telex makes at most 30 calls a second for each of them
	hours         int
	hour          time.Duration
}

// restFor is the time in which nobody writes while the bench counts the SQL statements of the daemons.
const restFor = 10 * time.Second

func (h hourly) measure(ctx context.Context, w *world, bot bot, f map[measure]float64) error {
	answer, err := atOnce(w, 30)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := w.crowd(ctx, answer)
	defer c.watching.Wait()
	defer cancel()
	shared, _ := bot.(*replicas)
	count := func() float64 {
		if shared == nil {
			return 0
		}
		n, failed := shared.statements(ctx)
		err = errors.Join(err, failed)
		return n
	}
	atRest := func(m measure) {
		before := count()
		err = errors.Join(err, outside.Pause(ctx, restFor))
		if shared != nil {
			f[m] = (count() - before) / restFor.Seconds()
		}
	}
	var memory []float64 // in MiB; measured after a tenth of the first hour, and after each hour
	weigh := func() {
		u, failed := bot.usage()
		err = errors.Join(err, failed)
		memory = append(memory, u.rss)
	}
	atRest(idleStatements)
	tenth := h.conversations / 10
	for hour := range h.hours {
		for from := 0; from < h.conversations; from += tenth {
			before := count()
			if failed := h.part(ctx, c, from, tenth); failed != nil {
				return errors.Join(err, failed)
			}
			if each := (count() - before) / float64(tenth); shared != nil && hour == 0 && from == 0 {
				f[statementsFirst] = each
			} else if shared != nil {
				f[statementsLast], f[statementGrowth] = each, each/f[statementsFirst]
			}
			if len(memory) == 0 { // after this first part, the program has allocated its buffers and pools
				weigh()
			}
		}
		atRest(restStatements)
		weigh()
	}
	n := len(memory)
	f[memoryGrown] = (memory[1] - memory[0]) * 1024 / float64(h.conversations-tenth)
	f[memoryAgain] = (memory[n-1] - memory[n-2]) * 1024 / float64(h.conversations)
	f[peakMemory] = memory[n-1]
	return err
}

// part lets the given people write one message each, at different times, and waits for the answers.
func (h hourly) part(ctx context.Context, c *crowd, from, people int) error {
	late := time.After(h.hour + startPatience)
	every := time.NewTicker(h.hour / time.Duration(h.conversations))
	defer every.Stop()
	for said, missing := 0, people; missing > 0; {
		tick := every.C
		if said == people {
			tick = nil
		}
		select {
		case <-tick:
			c.say(from+said, "An hour has passed")
			said++
		case <-c.answered:
			missing--
		case <-late:
			return fmt.Errorf("%d of %d messages got no answer", missing, people)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
