package main

import (
	"fmt"
	"slices"
	"strings"

	"telex/standin/slack"
)

// disordered describes the answers that appear above the answer to an earlier question. disordered ignores an answer if the
// platform delivered the two questions in the wrong order. The parameter at contains the position of each answer, or -1.
func (t *talk) disordered(at []int) (what []string) {
	for later, q := range t.asked {
		for earlier, e := range t.asked[:later] {
			if at[later] < 0 || at[earlier] <= at[later] || t.place.overtaken(e.mark, q.mark) {
				continue
			}
			what = append(what, fmt.Sprintf("the answer to %s stands before that to %s", q.mark, e.mark))
			break
		}
	}
	return what
}

// overtaken returns false, because Telegram and Discord deliver messages to one receiver, in the order in which people
// wrote them.
func (telegramPlace) overtaken(_, _ string) bool { return false }

func (discordPlace) overtaken(_, _ string) bool { return false }

// overtaken implements place. Slack distributes its events among the daemons. If a daemon was killed or paused, Slack sends the
// daemon's event again to another daemon, three seconds or a minute later. When Slack sends an event again, the person may have
// written another message meanwhile, which telex answers first.
func (p slackPlace) overtaken(earlier, later string) bool {
	messages := p.History(p.id())
	event := func(mark string) *slack.Delivery {
		of := slices.IndexFunc(messages, func(m slack.Message) bool { return !m.FromBot && strings.Contains(m.Last().Text, mark) })
		list := p.Deliveries()
		at := slices.IndexFunc(list, func(d slack.Delivery) bool {
			return of >= 0 && d.Channel == p.id() && d.TS == messages[of].TS && d.Type == "message" && d.Subtype == ""
		})
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	return ackedAfter(event(earlier), event(later))
}

// ackedAfter reports whether telex acknowledged the event of the earlier message later than the event of the later message, or
// never. telex acknowledges an event once it has stored the message. So if ackedAfter returns true, telex probably stored the
// later message first.
func ackedAfter(earlier, later *slack.Delivery) bool {
	return earlier != nil && later != nil && !later.Acked.IsZero() && (earlier.Acked.IsZero() || earlier.Acked.After(later.Acked))
}
