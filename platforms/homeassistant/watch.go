package homeassistant

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// gatherTime is how long the watcher waits before it reports a change, so that one message can report several
	// changes. For example, a scene may switch many lights at the same time.
	gatherTime = time.Second
	// maxLines limits the changes that one message reports. If more than maxLines changes are due, the further changes
	// wait for the next message to the gateway.
	maxLines = 50
	// maxEntities limits how many recently changed entities the watcher remembers. The largest installations have a few
	// thousand entities.
	maxEntities = 4000
	// absentLifetime is how long the watcher remembers that the bot has reported an entity as absent.
	absentLifetime = 24 * time.Hour
)

// Watch says which entities the bot reports when their state changes. The zero Watch reports no entity.
type Watch struct {
	Domains  []string // parts before the dot of the ids of watched entities, such as "light"
	Entities []string
	All      bool
	Ignore   []string      // ids of entities that the bot never reports
	Cooldown time.Duration // minimum time between two reports of the same entity
}

// Any reports whether the configuration watches any entity.
func (w Watch) Any() bool { return w.All || len(w.Domains)+len(w.Entities) > 0 }

// includes reports whether an entity is watched. includes returns false for notifications, because each answer of the
// bot changes the notifications.
func (w Watch) includes(entity string) bool {
	domain, _, _ := strings.Cut(entity, ".")
	switch {
	case slices.Contains(w.Ignore, entity), domain == domainNotify, domain == domainPersistent:
		return false
	}
	return w.All || slices.Contains(w.Domains, domain) || slices.Contains(w.Entities, entity)
}

// change describes how the state of an entity has changed since the bot last reported the entity.
type change struct {
	from, to state
	via      string    // the last state that the entity had between from and to; empty: no such state
	at       time.Time // when the change began
	repeated bool      // the change began in the cooldown; the bot does not report it if the entity returns to its reported state
}

// entity is what the watcher stores about an entity that was reported recently or will be reported.
type entity struct {
	reported    state     // the state that the bot reported last
	cooldownEnd time.Time // the end of the entity's cooldown
	pending     *change   // the change that the bot will report; nil: nothing to report
}

// watcher collects changes of entities until the bot reports the changes. A watcher is not safe for concurrent use.
type watcher struct {
	Watch
	entities map[string]*entity
	cleaned  time.Time // when old entities were last removed
	dropped  int       // number of changes that were dropped because too many entities changed
}

func newWatcher(w Watch) *watcher { return &watcher{Watch: w, entities: map[string]*entity{}} }

// add adds a change to the watcher if the configuration watches the changed entity. If the bot will not report the
// change, add returns false.
func (w *watcher) add(now time.Time, from, to state) bool {
	if from.State == to.State || !w.includes(to.EntityID) {
		return false
	}
	e := w.entities[to.EntityID]
	if from.isAbsent() && (e == nil || e.pending == nil && !e.reported.isAbsent()) {
		return false // the bot has not reported that the entity was absent, so it does not report the return
	}
	if e == nil {
		if len(w.entities) >= maxEntities && !w.removeOld(now) {
			w.dropped++
			return false
		}
		e = new(entity)
		w.entities[to.EntityID] = e
	}
	switch {
	case e.pending != nil:
		e.pending.via, e.pending.to = e.pending.to.State, to
	case now.Before(e.cooldownEnd):
		e.pending = &change{from: e.reported, to: to, at: now, repeated: true}
	default:
		e.pending = &change{from: from, to: to, at: now}
	}
	return true
}

// removeOld removes the entities that the watcher need not remember any more, and returns true if it has removed any
// entity. Because removeOld must check all entities, it does nothing if it has done so within the last second.
func (w *watcher) removeOld(now time.Time) bool {
	if now.Sub(w.cleaned).Abs() < time.Second {
		return false
	}
	w.cleaned = now
	before := len(w.entities)
	maps.DeleteFunc(w.entities, func(_ string, e *entity) bool {
		until := e.cooldownEnd
		if e.reported.isAbsent() {
			until = until.Add(absentLifetime)
		}
		return e.pending == nil && !now.Before(until)
	})
	return len(w.entities) < before
}

// due returns the time from which the bot may report the entity's pending change.
func (e *entity) due() time.Time {
	due := e.pending.at.Add(gatherTime)
	if e.cooldownEnd.After(due) {
		return e.cooldownEnd
	}
	return due
}

// next returns the time from which the bot may report the next pending change. If no change is pending, next returns
// false as ok.
func (w *watcher) next() (at time.Time, ok bool) {
	for _, e := range w.entities {
		if e.pending != nil && (!ok || e.due().Before(at)) {
			at, ok = e.due(), true
		}
	}
	return at, ok
}

// takeDue returns the changes that the bot may report now, oldest first, but at most maxLines changes. takeDue marks
// the returned changes as reported.
func (w *watcher) takeDue(now time.Time) []change {
	var ripe []change
	for _, e := range w.entities {
		switch {
		case e.pending == nil, now.Before(e.due()):
		case e.pending.repeated && e.pending.from.State == e.pending.to.State:
			e.pending = nil
		default:
			ripe = append(ripe, *e.pending)
		}
	}
	slices.SortFunc(ripe, func(a, b change) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.to.EntityID, b.to.EntityID))
	})
	ripe = ripe[:min(len(ripe), maxLines)]
	for _, c := range ripe {
		*w.entities[c.to.EntityID] = entity{reported: c.to, cooldownEnd: now.Add(w.Cooldown)}
	}
	w.removeOld(now)
	return ripe
}
