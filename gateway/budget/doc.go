// Package budget decides when a call to a platform may be made. Every call to one endpoint requests a ticket
// here first and waits until it is granted.
//
// A call counts in up to four scopes: its message, its thread, its chat, and the endpoint. It is granted when all of
// them have room. Finals go first, then first displays, then previews, then typing indicators. Within a class the call
// whose content has waited longest goes first, so that none starves.
//
// Each limit of a scope has a meter: it never grants more than Count calls in any Window, and a token bucket of size
// Burst spreads them over time. A platform counts a call when the call arrives. We can't observe this moment, but it
// lies between the call's start and its end. So
//
//   - a running call counts already, and
//   - a call that ended counts from its latest possible arrival: its end minus three quarters of the
//     shortest round trip; or its end, if there was no response.
//
// If one call ends at e and the next starts at s, the first arrived before e minus the time of the way back, and the
// second arrives after s plus the time of the way there. The gap between the arrivals is thus longer than s-e by at
// least the shortest possible round trip, whatever delays the network adds. So no window at the platform exceeds the
// limit, as long as the shortest observed round trip is at most a third longer than the shortest possible. If a round
// trip is even shorter, a few calls arrive too early by the difference, and at worst a 429 follows.
//
// Previews leave one call of each limit to finals and first displays. Typing indicators leave two. While replies wait
// in a scope, its previews go one at a time at the limit's rate. So if the call that previews leave is used, a final
// waits for one interval of the limit. When the endpoint's limits block kinds of calls, the search through the queue
// skips those kinds. A final of many parts announces how many calls it needs. Younger finals don't overtake it: they
// leave room for those announced calls that the limit would otherwise delay.
//
// After a 429 no call of the refused kinds is granted in the blocked scope until the block ends. Then previews slow
// down to the number of calls that the platform accepted, or to half of the limit, and return to the full rate within a
// minute. If the true limit is lower than declared, the platform refuses again at the same number of calls. Each time,
// the slowdown lasts longer, up to an hour. Finals and first displays are never slowed down. If previews filled the
// lower limit, finals would be refused. So previews leave up to half of it unused while the slowdown lasts.
//
// A refusal that names no scope blocks the chat. If several chats are refused that used less of their own limits than
// of the endpoint's limits, the endpoint is blocked as well. Further refusals of this kind slow down the endpoint's
// limits. Rate limits reported in answers tighten the limits at once, but never loosen them beyond the adapter's
// declaration. An adapter that trusts its platform's answers therefore declares the loosest limits.
package budget
