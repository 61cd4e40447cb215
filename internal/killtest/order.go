package main

import (
	"fmt"
	"slices"
	"strings"

	"telex/standin/slack"
)

// disordered describes the answers that appear before the answer to an earlier question. disordered leaves out answers
// to messages that the platform delivered in the wrong order. at contains the position of each answer, or -1.
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

// overtaken implements place. Slack delivers events to all daemons. An event for a killed or paused daemon is
// delivered again to another one, after three seconds or a minute. By then the person may have written another message,
// which is answered first.
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

// ackedAfter reports whether telex acknowledged the earlier message's event after the later message's event, or never.
// telex acknowledges an event once it has stored the message. If ackedAfter returns true, telex therefore probably
// stored the later message first.
func ackedAfter(earlier, later *slack.Delivery) bool {
	return earlier != nil && later != nil && !later.Acked.IsZero() && (earlier.Acked.IsZero() || earlier.Acked.After(later.Acked))
}
