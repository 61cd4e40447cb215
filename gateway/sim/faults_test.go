package sim

import (
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// fault is a fault that the platform injects into one call. The zero value means that the call has no fault.
type fault struct {
	kind  string
	scope chat.Scope // if kind is limited: the scope that the platform blocks
	named bool       // if kind is limited: the response names the blocked scope
	told  bool       // if kind is limited: the response contains the limit
	after time.Duration
}

// The kinds of faults.
const (
	limited     = "429"
	refused     = "refused at the door"
	cutBefore   = "cut before effect"
	cutAfter    = "cut after effect"
	hangBefore  = "hang before effect"
	hangAfter   = "hang after effect"
	slowAnswer  = "slow"
	badMarkup   = "markup rejected"
	badContent  = "content rejected"
	tooLong     = "too long"
	nameless    = "no message id"
	isFrozen    = "can't be edited"
	isForbidden = "forbidden"    // the fault affects one call only
	isAuth      = "unauthorized" // the fault affects one call only
	cutLate     = "cut, and the effect comes later"
	isBad       = "server error for this message" // affects all calls of the same kind for this message, for a time
)

func (k kind) faults() []string {
	list := []string{
		limited, limited, limited, refused, cutBefore, cutAfter, hangBefore, hangAfter, slowAnswer, badMarkup, tooLong, isFrozen,
		isForbidden, isAuth, isBad,
	}
	if k.probes {
		list = append(list, cutLate, cutLate, cutAfter, cutBefore)
	}
	return list
}

// The type kill describes an event that kills a process or stops it gracefully.
type kill struct {
	where string
	n     int           // number of the call or the write, counted from the start of the schedule
	at    time.Duration // time of the kill, if where is atTime or inOrder
	down  time.Duration
	ghost bool // calls that were already sent still arrive after the kill
	slot  int  // slot of the killed process, if where is atTime or inOrder
}

// The moments at which a process can die.
const (
	atTime      = "at an instant"
	inOrder     = "stopped in good order"
	beforeCall  = "before a call's effect"
	afterCall   = "after a call's effect"
	afterAnswer = "after a call's answer"
	beforeWrite = "before a write"
	afterWrite  = "after a write"
	beforeDeed  = "before a tool's effect"
	afterDeed   = "after a tool's effect"
)

func killPlaces() []string {
	return []string{atTime, atTime, inOrder, beforeCall, afterCall, afterAnswer, beforeWrite, afterWrite}
}

// drawEdits chooses at random which questions people edit and when, mostly while the bot answers them.
func (s *schedule) drawEdits(t *rapid.T) {
	for range rapid.IntRange(0, 2).Draw(t, "edits") {
		of := rapid.SampledFrom(s.says).Draw(t, "edited")
		s.accidents = append(s.accidents, accident{kind: "edit", place: of.place, at: of.at + span(t, "edited after", 1, 5000)})
	}
}

// drawTrouble chooses three groups of events at random: faults, kills, and outages together with accidents. Some
// schedules lack some of these groups, so that each group also occurs alone.
func (s *schedule) drawTrouble(t *rapid.T) {
	sorts := rapid.IntRange(0, 7).Draw(t, "trouble") // one bit for each group: faults, kills, outages with accidents
	if sorts&1 != 0 {
		for range rapid.IntRange(1, 5).Draw(t, "faults") {
			s.faults[rapid.IntRange(0, 25).Draw(t, "call")] = drawFault(t, s.kind.faults())
		}
		for range rapid.IntRange(0, 2).Draw(t, "typing faults") {
			s.typing[rapid.IntRange(0, 5).Draw(t, "indicator")] = drawFault(t, []string{limited, refused, cutBefore, hangBefore, isForbidden, isAuth})
		}
		if rapid.IntRange(0, 9).Draw(t, "rare") == 0 {
			s.faults[rapid.IntRange(0, 15).Draw(t, "rare call")] = drawFault(t, []string{badContent, nameless})
		}
	}
	if sorts&2 != 0 {
		places, most := killPlaces(), 30
		if s.tools { // schedules with tools make more calls
			places, most = append(places, beforeWrite, afterWrite, beforeDeed, afterDeed, afterDeed), 60
		}
		for range rapid.IntRange(1, 5).Draw(t, "kills") {
			s.kills = append(s.kills, kill{
				where: rapid.SampledFrom(places).Draw(t, "where"),
				n:     rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, most)).Draw(t, "nth"),
				at:    span(t, "instant", 0, 20_000),
				down:  rapid.OneOf(span2(0, 5000), span2(0, 5000), span2(0, 1_500_000)).Draw(t, "down"),
				ghost: rapid.Bool().Draw(t, "ghost"),
			})
			if k := &s.kills[len(s.kills)-1]; k.where == beforeDeed || k.where == afterDeed {
				k.n %= 4
			}
		}
	}
	if sorts&4 != 0 {
		if rapid.Bool().Draw(t, "away") {
			from := span(t, "outage", 0, 15_000)
			s.outages = append(s.outages, outage{
				from: from, until: from + rapid.OneOf(span2(100, 20_000), span2(100, 900_000)).Draw(t, "lasts"), hangs: rapid.Bool().Draw(t, "hangs"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "accidents") {
			s.accidents = append(s.accidents, accident{
				at: span(t, "when", 0, 15_000), place: rapid.IntRange(0, s.places-1).Draw(t, "where"), lasts: span(t, "for", 100, 20_000),
				kind: rapid.SampledFrom([]string{"delete", "delete", "delete", "full", "move"}).Draw(t, "accident"),
			})
		}
	}
}

func span2(low, high int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(low, high), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
}

func drawFault(t *rapid.T, kinds []string) fault {
	return fault{
		kind:  rapid.SampledFrom(kinds).Draw(t, "fault"),
		scope: rapid.SampledFrom([]chat.Scope{chat.ScopeMessage, chat.ScopeChat, chat.ScopeChat, chat.ScopeEndpoint}).Draw(t, "scope"),
		named: rapid.Bool().Draw(t, "named"),
		told:  rapid.IntRange(0, 3).Draw(t, "told") == 0,
		after: rapid.OneOf(span2(1000, 5000), span2(1000, 40_000), span2(1000, 3_600_000)).Draw(t, "after"),
	}
}
