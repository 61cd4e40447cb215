// Package budget decides who may call a platform, and when. Every call to one endpoint, from
// whatever part of the daemon, asks here first and waits for its turn.
//
// A call counts in up to three scopes: its message, its chat, the endpoint. It is granted when
// all of them have room. Finals go first, then first displays, previews, typing; within a class
// the call goes first whose content has waited longest, so that nobody starves.
//
// Room is counted by a meter for each limit of a scope: never more than Count calls in any
// Window, shaped by a bucket of Burst. A platform counts a call when it arrives, which nobody
// tells us; it is some time between the call's start and its end. So
//
//   - a call under way takes a place, and
//   - a call that ended counts from the latest moment at which it can have arrived as the next
//     one sees it: its end less the shortest round trip, of which three quarters are used.
//
// If one call ends at e and the next starts at s, the first arrived before e less the way back
// and the second arrives after s plus the way there: the shortest round trip lies between them
// beyond e-s, whatever else the network delays. So no window at the platform is ever crowded,
// with steady, jittery or hanging calls alike, while the shortest round trip that was seen is
// at most a third longer than the shortest possible. If the network betrays even that, a few
// calls come too early by the difference, and at worst a 429 follows.
//
// The limit is used: previews leave one call to finals and first displays, typing two. While
// replies wait in a scope, its previews go one by one at the limit's rate. So a final that finds the
// reserve taken waits for one interval of the limit. What the endpoint holds ends the search through
// the queue for all calls of these kinds. A final of many parts is not overtaken by younger ones:
// they leave room for what it announced, as far as the limit could not keep up with it.
//
// After a 429 no call of the kinds that it names is granted in the blocked scope until it is over.
// Then previews slow down to what was accepted, or to half, and are back in a minute. A limit that is
// lower than declared refuses again at the same number of calls; each time it does so the slowdown
// lasts longer, up to an hour. Finals and first displays are never slowed down. Previews that filled a
// lower limit would have them refused, so they leave up to half of it as long as the slowdown lasts.
//
// A refusal that names no scope blocks the chat. If several chats are refused that used less of their
// own limits than of the endpoint's, the endpoint is blocked as well; later ones are evidence of its
// limit, one by one. What answers tell of limits makes them narrower at once, never wider than an
// adapter declares: one that trusts its platform's answers declares the widest.
package budget
