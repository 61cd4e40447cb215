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

// busy is a load that never waits: people ask again as soon as they are answered, and the model writes each answer at once. There
// are many bots, since telex keeps each one within 30 calls a second. What limits the load is the processor.
type busy struct {
	people, bots int
	length       time.Duration
	share        float64 // of one processor, that each daemon may use; 0: all there are
}

// warmUp is how long people ask before the measurement begins.
const warmUp = 3 * time.Second

// atOnce lets the model write the same answer to every question without pauses.
func atOnce(w *world, tokens int) (answer string, err error) {
	answer = plainAnswer(1, tokens).text
	return answer, w.Model.Rule(openai.Rule{Do: fmt.Sprintf("rate=0 say=%q", answer)})
}

// isAnswer reports whether an event shows the whole answer in a chat.
func isAnswer(e telegram.Event, answer string) bool {
	return e.Message != nil && e.Message.FromBot && (e.Kind == "message" || e.Kind == "edit") && e.Message.Text() == answer
}

func (b busy) measure(ctx context.Context, w *world, bot bot, f map[measure]float64) error {
	answer, err := atOnce(w, 150)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, warmUp+b.length+startPatience)
	defer cancel()
	bots := append([]*telegram.Server{w.Telegram}, w.bots...)
	asked := make([]int, b.people)
	ask := func(person int) {
		bots[person%len(bots)].Say(telegram.Incoming{User: int64(firstUser + person), Text: fmt.Sprint("Question ", asked[person])})
		asked[person]++
	}
	got := make(chan int) // the person who has got an answer
	var watching sync.WaitGroup
	for _, s := range bots {
		s.SetLimits(telegram.NoLimits(), telegram.Limits{})
		events := s.Watch(ctx)
		watching.Go(func() {
			for e := range events {
				if isAnswer(e, answer) {
					select {
					case got <- int(e.Chat - firstUser):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	defer watching.Wait()
	defer cancel()
	for person := range b.people {
		ask(person)
	}
	var from, to usage
	answers, began := 0, time.Time{}
	for warm := time.Now().Add(warmUp); to.cpu == 0; {
		select {
		case person := <-got:
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

// hourly is a load of many conversations with one message an hour each. The hours are short.
type hourly struct {
	conversations int
	hours         int
	hour          time.Duration
}

// restFor is how long a daemon is watched when nobody writes.
const restFor = 10 * time.Second

func (h hourly) measure(ctx context.Context, w *world, bot bot, f map[measure]float64) error {
	w.Telegram.SetLimits(telegram.NoLimits(), telegram.Limits{})
	answer, err := atOnce(w, 30)
	if err != nil {
		return err
	}
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
	var memory []float64 // MiB after the first tenth of the first hour, and after each hour
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
			if failed := h.part(ctx, w, answer, from, tenth); failed != nil {
				return errors.Join(err, failed)
			}
			if each := (count() - before) / float64(tenth); shared != nil && hour == 0 && from == 0 {
				f[statementsFirst] = each
			} else if shared != nil {
				f[statementsLast], f[statementGrowth] = each, each/f[statementsFirst]
			}
			if len(memory) == 0 { // the program and its pools have their size now
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

// part lets some people write once, at their pace, and waits for the answers.
func (h hourly) part(ctx context.Context, w *world, answer string, from, people int) error {
	ctx, cancel := context.WithTimeout(ctx, h.hour+startPatience)
	defer cancel()
	events := w.Telegram.Watch(ctx)
	missing, failed := people, make(chan error, 1)
	go func() {
		for e := range events {
			if isAnswer(e, answer) {
				missing--
			}
			if missing == 0 {
				failed <- nil
				return
			}
		}
		failed <- fmt.Errorf("%d of %d messages got no answer", missing, people)
	}()
	every := time.NewTicker(h.hour / time.Duration(h.conversations))
	defer every.Stop()
	for i := range people {
		<-every.C
		w.Telegram.Say(telegram.Incoming{User: int64(firstUser + from + i), Text: "An hour has passed"})
	}
	return <-failed
}
