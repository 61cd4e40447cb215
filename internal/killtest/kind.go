package main

import (
	"math/rand/v2"

	"telex/standin/fault"
)

// kind is a kind of trial: it determines when the daemons are killed.
type kind struct {
	name, title string
	trials      int
	// plan makes the plan of the trial with the given number. If the kind kills the daemon during a call, trials with consecutive
	// numbers choose different calls.
	plan func(random *rand.Rand, number int) plan
}

// kinds returns all kinds of trials. The kind of trial with kills at random moments has n trials. The kinds of trials named
// cuts and reload have one trial each. Every other kind of trial has a tenth of n trials, but at least one.
func kinds(n int) []kind {
	some := max(1, n/10)
	list := []kind{{"random", "any instant, the start included", n, planRandom}}
	for _, method := range []string{"send", "edit"} {
		for _, at := range []struct{ name, action string }{
			{"before", fault.PauseBefore}, {"after", fault.PauseAfter}, {"answered", fault.PauseAnswered},
		} {
			title := map[string]string{
				"before": "before it takes effect", "after": "after its effect, before its answer", "answered": "once it is answered",
			}[at.name]
			draw := planSend
			if method == "edit" {
				draw = planEdit
			}
			list = append(list, kind{method + "-" + at.name, title, some, func(r *rand.Rand, number int) plan {
				return draw(r, number, at.action)
			}})
		}
	}
	return append(list,
		kind{"start", "in the first milliseconds of the first start", some, planStart},
		kind{"crowd", "several conversations at once", some, planCrowd},
		kind{"long", "answers of several messages", some, planLong},
		kind{"unstreamed", "without previews", some, planUnstreamed},
		kind{"twice", "once more while recovering", some, planTwice},
		kind{"thrice", "in three runs of a turn: it is closed", some, planThrice},
		kind{"accept", "between accepting and beginning", some, planAccept},
		kind{"blocked", "while a 429 holds", some, planBlocked},
		kind{"cuts", "ten chats at once, the connection is cut after 40 creates took effect; no kill", 1, planCuts},
		kind{"command", "while a command is answered", some, planCommand},
		kind{"reload", "no kill: reloads and restarts in good order, with 50 conversations at once", 1, planReloads(max(2, n/10))},
	)
}
