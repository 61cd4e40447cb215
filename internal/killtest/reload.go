package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"telex/internal/outside"
)

const (
	reloadChats = 50 // number of chats in which each daemon answers
	reloadTimes = 5  // number of reloads of each daemon's configuration
	// reloadEvery is the maximum time between two reloads. reloadEvery is long enough for a daemon to make all calls of
	// its conversations within the platform's limits.
	reloadEvery = 1500 * time.Millisecond
)

// planReloads returns a plan in which the given number of daemons run, one after the other. Each daemon answers in 50
// chats and reloads its configuration five times, with different changes. After these reloads, the test stops the
// daemon with SIGTERM.
func planReloads(daemons int) func(*rand.Rand, int) plan {
	return func(random *rand.Rand, _ int) plan {
		p := plan{queue: true, questions: wave(random, 0)}
		for n := range daemons {
			p.strikes = append(p.strikes, reloading(random, n))
		}
		return p
	}
}

// wave returns the questions for the n-th daemon. Each daemon gets its questions from other people, so that nobody
// reaches the limit of turns per minute.
func wave(random *rand.Rand, n int) (list []question) {
	for i := range reloadChats {
		q := ask(random, firstChat+int64(n*reloadChats+i), []length{medium, brief, medium}[i%3])
		q.chat = firstChat + int64(n%2*reloadChats+i)
		list = append(list, q)
	}
	return list
}

// reloading asks the questions, reloads the daemon's configuration while the model writes the answers, and then ends
// the daemon gracefully.
func reloading(random *rand.Rand, n int) strike {
	return func(t *trial) kill {
		var asked error
		if n > 0 {
			more := wave(random, n)
			asked = t.world.ask(more)
			t.questions = append(t.questions, more...)
		}
		return func(ctx context.Context, l *life) (bool, error) {
			if asked != nil {
				return false, asked
			}
			began, err := await(ctx, strikePatience, l.Exited, func() bool { return t.world.polled(l.Started) })
			if err != nil || !began {
				return false, err
			}
			for i := range reloadTimes {
				if err := outside.Pause(ctx, upTo(random, reloadEvery)); err != nil {
					return false, err
				}
				if err := l.home.configure(t.world, t.plan, t.change(n*reloadTimes+i)); err != nil {
					return false, err
				}
				if err := l.home.reload(ctx); err != nil {
					return false, err
				}
			}
			if err := outside.Pause(ctx, upTo(random, reloadEvery)); err != nil {
				return false, err
			}
			return true, l.End()
		}
	}
}

// change returns the settings for the n-th reload. One of five reloads changes the bot's token at the platform. Until the
// daemon has reloaded its configuration, the platform refuses the token that the daemon still uses.
func (t *trial) change(n int) settings {
	s := initialSettings()
	switch n % 5 {
	case 0:
		s.prompt = fmt.Sprintf("You are number %d.", n)
	case 1:
		t.world.Telegram.SetToken(fmt.Sprintf("123456789:AAtoken-of-reload-%020d", n))
	case 2:
		s.more = `mcp_servers: [{name: mute, command: sleep, args: ["600"]}]`
	case 3:
		s.more = "tools: {enabled: [time, memory]}\ntranscription: {model: hear}"
	case 4:
		s.interval = 0.3
	}
	return s
}
