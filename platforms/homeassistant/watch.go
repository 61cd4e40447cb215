package homeassistant

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// gatherTime is how long a change waits for others: a scene switches many lights at once.
	gatherTime = time.Second
	// maxLines is the maximum number of changes in one message. The others wait for the next one.
	maxLines = 50
	// maxEntities is the maximum number of entities that are remembered because they changed recently. The largest
	// installations have a few thousand entities.
	maxEntities = 4000
	// absentLifetime is how long it is remembered that an entity was told of as absent.
	absentLifetime = 24 * time.Hour
)

// Watch says which entities are told of. The zero value tells of none.
type Watch struct {
	Domains  []string // what stands before the dot, such as "light"
	Entities []string
	All      bool
	Ignore   []string      // entities that are never told of
	Cooldown time.Duration // after an entity was told of, how long it is not told of again
}

// Any reports whether anything is watched.
func (w Watch) Any() bool { return w.All || len(w.Domains)+len(w.Entities) > 0 }

// includes reports whether an entity is watched. Entities that change with every answer never are.
func (w Watch) includes(entity string) bool {
	domain, _, _ := strings.Cut(entity, ".")
	switch {
	case slices.Contains(w.Ignore, entity), domain == domainNotify, domain == domainPersistent:
		return false
	}
	return w.All || slices.Contains(w.Domains, domain) || slices.Contains(w.Entities, entity)
}

// change is what happened to an entity since it was told of last.
type change struct {
	from, to state
	via      string    // the newest state that differed from the one that followed it; empty: from became to directly
	at       time.Time // of its beginning
	repeated bool      // it began during the cooldown: it is not worth telling if everything is as it was told
}

// entity is one that was told of recently, or is to be told of.
type entity struct {
	reported    state     // the state as it was told last
	cooldownEnd time.Time // the end of its cooldown
	pending     *change   // not told yet; nil: nothing
}

// watcher collects changes until they are told. It is not safe for concurrent use.
type watcher struct {
	Watch
	entities map[string]*entity
	cleaned  time.Time // when entities were forgotten last
	dropped  int       // changes that were not remembered because too many entities changed
}

func newWatcher(w Watch) *watcher { return &watcher{Watch: w, entities: map[string]*entity{}} }

// add notes a change, if its entity is watched. It returns false if the change is not to be told.
func (w *watcher) add(now time.Time, from, to state) bool {
	if from.State == to.State || !w.includes(to.EntityID) {
		return false
	}
	e := w.entities[to.EntityID]
	if from.isAbsent() && (e == nil || e.pending == nil && !e.reported.isAbsent()) {
		return false // it was told of as it is now, or never: all entities come back when Home Assistant restarts
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

// removeOld removes the entities of which nothing is to be remembered, and reports whether there were any. It looks through all of
// them, so it does that once a second.
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

// due returns when an open change may be told.
func (e *entity) due() time.Time {
	due := e.pending.at.Add(gatherTime)
	if e.cooldownEnd.After(due) {
		return e.cooldownEnd
	}
	return due
}

// next returns when there is something to tell; false: nothing is.
func (w *watcher) next() (at time.Time, ok bool) {
	for _, e := range w.entities {
		if e.pending != nil && (!ok || e.due().Before(at)) {
			at, ok = e.due(), true
		}
	}
	return at, ok
}

// takeDue returns the changes that are to be told now, oldest first, at most maxLines. They are told from here on.
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
