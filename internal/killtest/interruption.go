package main

import (
	"fmt"
	"slices"
	"time"
)

// maxInterruption is how long a restart in order may interrupt a reply.
const maxInterruption = 2 * time.Second

// near is how long an event has effects.
const near = 15 * time.Second

// interruption is the longest time by which a growing reply stood still beyond its pace.
type interruption struct {
	time.Duration
	from  time.Time
	place string // the platform
	calm  bool   // no event was near
	where string // in words
}

// interruptions returns the longest interruption of each reply of several parts. posts has the messages of each chat.
func (c *cluster) interruptions(posts [][]post) (list []interruption) {
	all := make(map[string][]post)
	for i, t := range c.talks {
		all[t.place.name()] = append(all[t.place.name()], posts[i]...)
	}
	for i, t := range c.talks {
		for _, p := range posts[i] {
			if len(p.versions) > 1 {
				list = append(list, c.interruption(t, p, all[t.place.name()]))
			}
		}
	}
	return list
}

// interruption returns the longest interruption of a message. All messages on the platform share its limits.
func (c *cluster) interruption(t *talk, p post, all []post) interruption {
	from, to := p.versions[0].at, p.versions[len(p.versions)-1].at
	worst := interruption{place: t.place.name(), calm: !slices.ContainsFunc(c.events, func(e event) bool { return e.At.Add(near).After(from) && e.At.Before(to) })}
	for i, v := range p.versions[1:] {
		since := p.versions[i].at
		gap := v.at.Sub(since)
		if gap <= worst.Duration {
			continue
		}
		// Each reply gets at least its share of the platform's limit.
		pace := t.place.pace(together(all, since, v.at), max(1, len(c.replicas)))
		if gap-pace > worst.Duration {
			worst.Duration, worst.from = gap-pace, since
			worst.where = fmt.Sprintf("%.1f s beyond %.1f s from %s in %s, chat %d: %s", (gap - pace).Seconds(), pace.Seconds(), since.Format("15:04:05.0"), t.place.name(), t.number, clip(p.text()))
		}
	}
	return worst
}

// together returns how many messages changed in a span of time, and change later.
func together(all []post, from, to time.Time) (n int) {
	for _, p := range all {
		if p.versions[0].at.Before(to) && p.versions[len(p.versions)-1].at.After(from) {
			n++
		}
	}
	return n
}
