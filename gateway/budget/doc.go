// Package budget decides who may call a platform, and when. Every call to one endpoint, from
// whatever part of the daemon, asks here first and waits for its turn:
//
//   - A call counts in all scopes that the platform limits: its message, its chat, the whole
//     endpoint. It is granted when every one of them has room.
//   - More urgent classes go first, and within a class the call whose content has waited
//     longest. Less urgent classes leave a reserve in every scope, so that a final finds room.
//   - After a 429 nothing is granted in the blocked scope until it is over; then the scope
//     goes on at half its rate and recovers slowly, since the published limit was not the
//     one in force.
//
// A platform counts when a call arrives, which is some time between its start and its end.
// So a call occupies its window from its grant until a whole window after its end: whatever
// the network delays, no window at the platform holds more calls than the limit allows.
package budget
