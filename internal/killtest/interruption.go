package main

import (
	"fmt"
	"slices"
	"time"
)

// maxInterruption is how much longer a reply may stand still, without any change, because of a graceful restart.
// maxInterruption is added to the 99th percentile of the times for which replies stand still without a restart.
const maxInterruption = 2 * time.Second

// near is the time after an event in which the event may still have effects. After a kill, another replica takes over within
// seconds, but for a minute the platform's limits still count the calls of the previous replica.
const near = 75 * time.Second

// interruption is how much longer a growing reply stood still between two changes than expected. The expected time
// between two changes is place.pace.
type interruption struct {
	time.Duration
	place string // name of the platform
	calm  bool   // no event happened shortly before the interruption or during it
	where string // description of the place and the time of the interruption
}

// interruptions returns one interruption for each change of each reply; most interruptions are 0. posts contains the
// bot's messages in each chat.
func (c *cluster) interruptions(posts [][]post) (list []interruption) {
	all := make(map[string][]post)
	for i, t := range c.talks {
		all[t.place.name()] = append(all[t.place.name()], posts[i]...)
	}
	for i, t := range c.talks {
		for _, p := range posts[i] {
			list = append(list, c.interruptionsOf(t, p, all[t.place.name()])...)
		}
	}
	return list
}

// interruptionsOf returns the interruptions of the message p. The parameter all contains all messages on the same platform. The
// messages on one platform share the platform's limits, even if different daemons write them.
func (c *cluster) interruptionsOf(t *talk, p post, all []post) (list []interruption) {
	for i, v := range p.versions[1:] {
		since := p.versions[i].at
		pace := t.place.pace(together(all, since, v.at))
		stood := interruption{place: t.place.name(), Duration: max(0, v.at.Sub(since)-pace)}
		stood.calm = !slices.ContainsFunc(c.events, func(e event) bool { return e.At.Add(near).After(since) && e.At.Before(v.at) })
		stood.where = fmt.Sprintf("%.1f s beyond %.1f s from %s in %s, chat %d: %s",
			stood.Seconds(), pace.Seconds(), since.Format("15:04:05.0"), t.place.name(), t.number, clip(p.text()))
		list = append(list, stood)
	}
	return list
}

// together returns how many messages were growing during a span of time.
func together(all []post, from, to time.Time) (n int) {
	for _, p := range all {
		if p.versions[0].at.Before(to) && p.versions[len(p.versions)-1].at.After(from) {
			n++
		}
	}
	return n
}
