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

// span is roughly how long a daemon takes to start and to answer questions of one length.
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

// planRandom kills once at any moment: while the daemon starts, answers, or has just answered.
func planRandom(random *rand.Rand, number int) plan {
	l := []length{medium, medium, brief, long}[number%4]
	p := plan{unstreamed: number%5 == 4}
	for i := range 1 + random.IntN(2) {
		p.questions = append(p.questions, ask(random, firstChat+int64(i), l))
	}
	p.strikes = []strike{atRandom(random, span(l))}
	return p
}

// planStart kills while the daemon creates its store, and again while it opens it.
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

// planSend kills during the create of a reply's only message, of its first, or of a later one.
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

// planEdit kills during a preview, during the edit that fills a message, or during the one that shows the end.
func planEdit(random *rand.Rand, number int, action string) plan {
	target := []struct {
		length length
		nth    int // 0: the first that shows the end
	}{{medium, 1}, {medium, 0}, {long, 1}, {long, 2}, {medium, 2}}[number%5]
	q := ask(random, firstChat, target.length)
	f := telegram.Fault{Method: editCall, Nth: target.nth, Action: action}
	if target.nth == 0 {
		f.Contains = q.last()
	}
	return plan{questions: []question{q}, strikes: []strike{atCall(f, lag(number, action))}}
}

// lag lets some daemons live for a moment after the answer, since a daemon that is killed at once has no time to read
// it.
func lag(number int, action string) time.Duration {
	if action != fault.PauseAnswered {
		return 0
	}
	return []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond, 0, 400 * time.Millisecond}[number%7]
}

// planCrowd kills while some answers are growing, some questions wait, and some answers are complete.
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

// planTwice kills during an answer and again during its recovery.
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

// planThrice kills each run of a turn before the model has ended. The fourth daemon must not ask the model again.
func planThrice(random *rand.Rand, _ int) plan {
	q := ask(random, firstChat, medium)
	q.rate /= 4
	p := plan{questions: []question{q}, closed: true}
	for i := range 3 {
		p.strikes = append(p.strikes, whileThinking(i+1, upTo(random, time.Second)))
	}
	return p
}

// planAccept kills when a message has just arrived, when it is confirmed, or while it waits behind another one.
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

// planBlocked kills while a 429 has closed the chat, so that only the store knows of it.
func planBlocked(random *rand.Rand, number int) plan {
	f := telegram.Fault{Method: []string{sendCall, editCall}[number%2], Nth: 1 + number%2*(1+number/2%2), RetryAfter: 2}
	return plan{
		questions: []question{ask(random, firstChat, medium)},
		strikes:   []strike{whileBlocked(f, 100*time.Millisecond+upTo(random, 700*time.Millisecond))},
	}
}

// planCuts kills nothing. The connection breaks after each of 40 creates took effect, while ten chats get answers of
// several messages.
func planCuts(random *rand.Rand, _ int) plan {
	p := plan{cuts: 40}
	for i := range 10 {
		p.questions = append(p.questions, ask(random, firstChat+int64(i), long))
		q := &p.questions[i]
		q.answer, q.want = count(q.chat, 3300+random.IntN(100)) // four messages
	}
	return p
}

// planCommand kills while a command is accepted, and during the create of its answer.
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
