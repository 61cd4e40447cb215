// Package budget decides when a call to a platform may be made. Every call to one endpoint requests a ticket
// here first and waits until it is granted.
//
// A call counts in up to four scopes: its message, its thread, its chat, and the endpoint. It is granted when
// all of them have room. Finals go first, then first displays, previews, typing. Within a class the call whose
// content has waited longest goes first, so that none starves.
//
// Each limit of a scope has a meter: it grants never more than Count calls in any Window, and a token bucket of
// size Burst spreads them over time. A platform counts a call when it arrives, which we can't observe; it is
// some time between the call's start and its end. So
//
//   - a running call takes a place, and
//   - a call that ended counts from its latest possible arrival: its end minus three quarters of the
//     shortest round trip; if there was no response, its end.
//
// If one call ends at e and the next starts at s, the first arrived before e minus the way back, and the second
// arrives after s plus the way there. The gap between the arrivals is thus longer than s-e by at least the
// shortest possible round trip, whatever delays the network adds. So no window at the platform exceeds the
// limit, as long as the shortest observed round trip is at most a third longer than the shortest possible. If
// the network is even faster once, a few calls arrive too early by the difference, and at worst a 429 follows.
//
// Previews leave one call of the limit to finals and first displays, typing two. While replies wait in a scope,
// its previews go one at a time at the limit's rate, so that a final which finds the reserve used waits for one
// interval of the limit. When the endpoint's limits block kinds of calls, the search through the queue skips
// those kinds. Younger finals don't overtake a final of many parts: they leave room for its announced calls, as
// far as the limit can't keep up with them.
//
// After a 429 no call of the refused kinds is granted in the blocked scope until the block ends. Then previews
// slow down to the accepted rate, or to half, and return to the full rate within a minute. If the true limit is
// lower than declared, it refuses again at the same number of calls; each time the slowdown lasts longer, up to
// an hour. Finals and first displays are never slowed down. Since previews that fill a lower limit would cause
// their refusal, previews leave up to half of it while the slowdown lasts.
//
// A refusal that names no scope blocks the chat. If several chats are refused that used less of their own limits
// than of the endpoint's, the endpoint is blocked as well; further such refusals slow down the endpoint's
// limits. Rate limits reported in answers tighten the limits at once, but never loosen them beyond the adapter's
// declaration. An adapter that trusts its platform's answers therefore declares the loosest limits.
package budget
