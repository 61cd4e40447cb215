package main

import (
	"math/rand/v2"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

const (
	sendCall = "sendMessage"
	editCall = "editMessageText"
	pollCall = "getUpdates"
)

// span returns roughly how long a daemon takes to start and to give an answer of the given length.
func span(l length) time.Duration {
	switch l {
	case brief:
		return 600 * time.Millisecond
	case medium:
		return 3 * time.Second
	default:
		return 5 * time.Second
	}
}

// planRandom kills the daemon once, at a random time: while the daemon starts or answers, or shortly after an answer.
func planRandom(random *rand.Rand, number int) plan {
	l := []length{medium, medium, brief, long}[number%4]
	p := plan{unstreamed: number%5 == 4}
	for i := range 1 + random.IntN(2) {
		p.questions = append(p.questions, ask(random, firstChat+int64(i), l))
	}
	p.strikes = []strike{atRandom(random, span(l))}
	return p
}

// planStart kills the first daemon while it creates its store, and the second daemon while it opens the store.
func planStart(random *rand.Rand, number int) plan {
	p := plan{questions: []question{ask(random, firstChat, brief)}}
	if number%4 == 0 {
		p.strikes = []strike{atRandom(random, 60*time.Millisecond)}
	} else {
		p.strikes = []strike{whenStored(upTo(random, 8*time.Millisecond))}
	}
	p.strikes = append(p.strikes, atRandom(random, 60*time.Millisecond))
	return p
}

// planSend kills the daemon during the call that creates a message of a reply: the only message, the first one, or a
// later one.
func planSend(random *rand.Rand, number int, action string) plan {
	target := []struct {
		length     length
		nth        int
		unstreamed bool
	}{{medium, 1, false}, {long, 2, false}, {brief, 1, true}, {long, 3, false}, {long, 2, true}}[number%5]
	return plan{
		questions: []question{ask(random, firstChat, target.length)}, unstreamed: target.unstreamed,
		strikes: []strike{atCall(telegram.Fault{Method: sendCall, Nth: target.nth, Action: action}, lag(number, action))},
	}
}

// planEdit kills the daemon during an edit. The edit shows a preview, fills a message, or shows the end of the answer.
func planEdit(random *rand.Rand, number int, action string) plan {
	target := []struct {
		length length
		nth    int // number of the edit at which to kill; 0: the first edit that shows the end of the answer
	}{{medium, 1}, {medium, 0}, {long, 1}, {long, 2}, {medium, 2}}[number%5]
	q := ask(random, firstChat, target.length)
	f := telegram.Fault{Method: editCall, Nth: target.nth, Action: action}
	if target.nth == 0 {
		f.Contains = q.last()
	}
	return plan{questions: []question{q}, strikes: []strike{atCall(f, lag(number, action))}}
}

// lag returns how long the test waits after the platform's response before it kills the daemon. In some trials, lag is
// more than 0, because a daemon that is killed at once has no time to read the response.
func lag(number int, action string) time.Duration {
	if action != fault.PauseAnswered {
		return 0
	}
	return []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond, 0, 400 * time.Millisecond}[number%7]
}

// planCrowd kills the daemon while some answers grow, other questions wait, and other answers are already complete.
func planCrowd(random *rand.Rand, number int) plan {
	var p plan
	for i := range 3 + random.IntN(3) {
		p.questions = append(p.questions, ask(random, firstChat+int64(i), []length{medium, brief, medium, long}[(i+number)%4]))
	}
	group := ask(random, firstChat+9, brief)
	group.chat, group.user = -group.chat, firstChat
	p.questions = append(p.questions, group)
	p.strikes = []strike{atRandom(random, span(medium))}
	return p
}

func planLong(random *rand.Rand, _ int) plan {
	return plan{questions: []question{ask(random, firstChat, long)}, strikes: []strike{whileShown(upTo(random, 4*time.Second))}}
}

func planUnstreamed(random *rand.Rand, number int) plan {
	l := []length{brief, medium, long}[number%3]
	return plan{
		questions: []question{ask(random, firstChat, l)}, unstreamed: true,
		strikes: []strike{whileThinking(1, upTo(random, span(l)))},
	}
}

// planTwice kills the first daemon during an answer, and the second daemon while it recovers from this kill.
func planTwice(random *rand.Rand, number int) plan {
	q := ask(random, firstChat, []length{medium, medium, long}[number%3])
	second := atRandom(random, 2*time.Second)
	switch number % 4 {
	case 1:
		second = atCall(telegram.Fault{Method: editCall, Nth: 1, Action: fault.PauseBefore}, 0)
	case 2:
		second = atCall(telegram.Fault{Method: editCall, Nth: 1, Action: fault.PauseAfter}, 0)
	}
	return plan{questions: []question{q}, strikes: []strike{whileThinking(1, upTo(random, 1500*time.Millisecond)), second}}
}

// planThrice kills three daemons in a row while the model writes the same answer. The fourth daemon must not call the model
// again for this answer.
func planThrice(random *rand.Rand, _ int) plan {
	q := ask(random, firstChat, medium)
	q.rate /= 4
	p := plan{questions: []question{q}, closed: true}
	for i := range 3 {
		p.strikes = append(p.strikes, whileThinking(i+1, upTo(random, time.Second)))
	}
	return p
}

// planAccept kills the daemon in one of three situations: a message has just arrived, the daemon acknowledges the
// message, or the message waits for the end of another answer.
func planAccept(random *rand.Rand, number int) plan {
	p := plan{questions: []question{ask(random, firstChat, medium)}}
	switch number % 3 {
	case 0:
		p.strikes = []strike{atCall(telegram.Fault{Method: pollCall, Nth: 1, Action: fault.PauseAnswered}, upTo(random, 8*time.Millisecond))}
	case 1:
		p.strikes = []strike{atCall(telegram.Fault{Method: pollCall, Nth: 2, Action: fault.PauseBefore}, 0)}
	case 2:
		second := ask(random, firstChat+1, medium)
		second.chat = firstChat
		p.questions, p.queue = append(p.questions, second), true
		p.strikes = []strike{whileThinking(1, upTo(random, time.Second))}
	}
	return p
}

// planBlocked kills the daemon while it has to wait because of a 429. The next daemon can learn about the 429 only from
// the store.
func planBlocked(random *rand.Rand, number int) plan {
	f := telegram.Fault{Method: []string{sendCall, editCall}[number%2], Nth: 1 + number%2*(1+number/2%2), RetryAfter: 2}
	return plan{
		questions: []question{ask(random, firstChat, medium)},
		strikes:   []strike{whileBlocked(f, 100*time.Millisecond+upTo(random, 700*time.Millisecond))},
	}
}

// planCuts kills no daemon. In ten chats, the bot gives answers that consist of several messages. For 40 of the messages, the
// create call takes effect, but the connection breaks before the daemon receives the response.
func planCuts(random *rand.Rand, _ int) plan {
	p := plan{cuts: 40}
	for i := range 10 {
		p.questions = append(p.questions, ask(random, firstChat+int64(i), long))
		q := &p.questions[i]
		q.answer, q.want = count(q.chat, 3300+random.IntN(100)) // this answer consists of four messages
	}
	return p
}

// planCommand kills the daemon while the daemon accepts a command, or during the call that sends the reply to the
// command.
func planCommand(random *rand.Rand, number int) plan {
	p := plan{questions: []question{command(firstChat)}}
	f := telegram.Fault{Method: sendCall, Nth: 1}
	switch number % 4 {
	case 0:
		f.Action = fault.PauseBefore
		p.strikes = []strike{atCall(f, 0)}
	case 1:
		f.Action = fault.PauseAfter
		p.strikes = []strike{atCall(f, 0)}
	case 2:
		f.Action = fault.PauseAnswered
		p.strikes = []strike{atCall(f, lag(number/4, f.Action))}
	case 3:
		f.Method, f.Action = pollCall, fault.PauseAnswered
		p.strikes = []strike{atCall(f, upTo(random, 15*time.Millisecond))}
	}
	return p
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Float64() * float64(d))
}
