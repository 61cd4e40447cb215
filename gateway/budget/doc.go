// Package budget decides when a call to a platform may be made. Before each call to an endpoint, the caller requests a
// ticket from the endpoint's Budget and waits until the Budget grants the ticket.
//
// A call counts in up to four scopes: its message, its thread, its chat, and the endpoint. The Budget grants a call when all
// its scopes have room. Finals come first, then first displays, then previews, then typing indicators. Among calls of the same
// class, the call whose content has waited longest comes first, so that every call is made in the end.
//
// Each limit of a scope has a meter. A meter never allows more than Count calls in any Window, and a token bucket of
// size Burst spreads the calls over time. A platform counts a call when the call arrives there. The Budget can't
// observe the time of arrival, which is between the start and the end of the call. So the Budget counts calls as
// follows:
//
//   - A running call counts already.
//   - A call that has ended counts from its latest possible arrival. If there was a response, the latest possible arrival is
//     the end of the call minus three quarters of the shortest round trip. If there was no response, the latest possible
//     arrival is the end of the call.
//
// Suppose one call ends at time e and the next call starts at time s. The first call arrived at the platform before its end e
// minus the travel time of its response. The second call arrives after its start s plus its own travel time. The time between
// the two arrivals is therefore longer than the pause s-e between the calls by at least the shortest possible round trip, even
// if the network delays calls. So the arriving calls stay within the limit if the shortest observed round trip is at most a
// third longer than the shortest possible one. If the shortest observed round trip is more than a third longer, a few calls
// arrive too early, and the platform may answer with a 429.
//
// Previews leave one call of each limit to finals and first displays, and typing indicators leave two calls. While calls wait
// in a scope, the Budget spreads the previews of this scope evenly over the limit's window. So if another final has just used
// the call that previews left unused, a final waits for only one interval of the limit. When the endpoint's limits block some
// kinds of calls, the Budget skips calls of those kinds while it searches the queue. A final of many parts announces how many
// calls it needs. Later finals leave room for those announced calls that the limit would otherwise delay.
//
// After a response with status 429, the Budget grants no call of the refused kinds in the blocked scope until the block
// ends. After the block, previews slow down to the number of calls that the platform accepted, or to half of the limit.
// Previews return to the full rate within a minute. If the platform's true limit is lower than the declared limit, the
// platform refuses calls again at the same number of calls. Each such refusal makes the slowdown longer, up to an hour.
// Finals and first displays are never slowed down. During a slowdown, previews leave up to half of the lower limit
// unused, since the platform would refuse finals if previews used all of it.
//
// If a 429 does not say which scope it concerns, the Budget blocks the chat. If the platform refuses calls in several chats
// that have used less of their own limits than of the endpoint's limits, the Budget blocks the endpoint as well. While the
// endpoint's limits are slowed down, each further refusal in such a chat slows them down more. Rate limits that the platform
// reports in its responses make the limits stricter at once, but never looser than the limits that the adapter declares. An
// adapter that relies on the reported limits therefore declares the loosest limits that are possible.
package budget
