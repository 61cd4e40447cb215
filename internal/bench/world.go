package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf16"

	"telex/internal/outside"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// modelKey is the API key of the model's stand-in. The key is not a secret.
const modelKey = "bench"

// firstUser is the first person's id. All user ids have five digits. So no id is part of another id, and no question
// contains the text of another question.
const firstUser = 10_000

// world is the environment of a bot: a platform with its published limits, and a model provider.
type world struct {
	*outside.World
	people int                // number of people who have asked
	apiURL string             // address of the daemon's API server; empty: the daemon has none
	bots   []*telegram.Server // additional bots of the same platform
}

type worldOptions struct {
	latency time.Duration // duration of each call to the platform
	rate    float64       // tokens per second
	hidden  telegram.Limits
	api     bool // the daemon also has an API server
	bots    int  // number of bots on the platform; 0 means one bot
}

func newWorld(ctx context.Context, o worldOptions) (*world, error) {
	w, err := outside.NewWorld(ctx, telegram.Options{Latency: o.latency, Hidden: o.hidden}, openai.Options{Key: modelKey, Rate: o.rate})
	if err != nil {
		return nil, err
	}
	world := &world{World: w}
	for i := 1; i < o.bots; i++ {
		bot := telegram.New(telegram.Options{Latency: o.latency})
		url, err := w.Serve(ctx, bot)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		world.bots = append(world.bots, bot)
		w.Platforms += fmt.Sprintf("  telegram%d: {kind: telegram, token: %q, api_base: %q}\n", i, bot.Token(), url)
	}
	if !o.api {
		return world, nil
	}
	address, err := outside.FreeAddress(ctx)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Platforms += fmt.Sprintf("  api_server: {listen: %q, keys: [%s], max_requests: 1000}\n", address, modelKey)
	world.apiURL = "http://" + address
	return world, nil
}

// awaitPoll waits until the bot polls for the first time and returns that time.
func (w *world) awaitPoll(ctx context.Context, exited <-chan struct{}) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		calls := w.Telegram.Calls()
		if i := slices.IndexFunc(calls, func(c telegram.Call) bool { return c.Method == "getUpdates" }); i >= 0 {
			return calls[i].At, nil
		}
		select {
		case <-exited:
			return time.Time{}, errors.New("the bot ended before its first poll")
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the first poll: %w", ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// question is a question that a person asked, and the model's answer to it.
type question struct {
	user   int64
	text   string
	answer answer
}

// ask lets the given number of new people write at the same time. The function write makes the model's answers.
func (w *world) ask(people int, write func(seed uint64) answer) ([]question, error) {
	var list []question
	for range people {
		user := int64(firstUser + w.people)
		w.people++
		q := question{user: user, text: fmt.Sprintf("Question %d", user), answer: write(uint64(user))}
		do := fmt.Sprintf("jitter=0.3 say=%q", q.answer.text)
		if err := w.Model.Rule(openai.Rule{Match: q.text, Do: do}); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	for _, q := range list {
		w.Telegram.Say(telegram.Incoming{User: q.user, Text: q.text})
	}
	return list, nil
}

// awaitFinals waits until the final of every answer is visible, but not longer than patience.
func (w *world) awaitFinals(ctx context.Context, asked []question, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	pending := slices.Clone(asked)
	for len(pending) > 0 && time.Now().Before(deadline) {
		if err := outside.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		now := time.Now()
		pending = slices.DeleteFunc(pending, func(q question) bool {
			return look(w.Telegram.History(q.user), q.answer, now).final(q.answer)
		})
	}
	return nil
}

// awaitStreams waits until the model has written every answer, but not longer than patience.
func (w *world) awaitStreams(ctx context.Context, asked []question, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if err := outside.Pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		ended := make(map[string]bool)
		for _, r := range w.Model.Requests() {
			ended[r.Question] = !r.Ended.IsZero()
		}
		if !slices.ContainsFunc(asked, func(q question) bool { return !ended[q.text] }) {
			break
		}
	}
	return nil
}

// stories returns the measurements of the answer to each question.
func (w *world) stories(asked []question) []story {
	now := time.Now()
	requests := make(map[string]openai.Request)
	for _, r := range w.Model.Requests() {
		requests[r.Question] = r
	}
	list := make([]story, len(asked))
	for i, q := range asked {
		list[i] = tell(q.answer, requests[q.text], w.Telegram.History(q.user), now)
	}
	return list
}

// shown returns the calls that concern a chat. shown leaves out calls such as polls for new messages.
func (w *world) shown() []telegram.Call {
	return slices.DeleteFunc(w.Telegram.Calls(), func(c telegram.Call) bool { return c.Chat == 0 })
}

// longestText returns the length of the longest text that a message of the bot has ever shown, in the unit in which the
// platform measures texts.
func (w *world) longestText() int {
	longest := 0
	for i := range w.people {
		for _, m := range w.Telegram.History(int64(firstUser + i)) {
			if !m.FromBot {
				continue
			}
			for _, v := range m.Versions {
				longest = max(longest, len(utf16.Encode([]rune(v.Text))))
			}
		}
	}
	return longest
}
