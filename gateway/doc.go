// Package gateway stands between the chat platforms and the agent. It decides who is let in,
// keeps the order of every conversation, runs turns and commands, and stops in good order.
//
// Each conversation has one actor, and each actor one goroutine that owns its state: the
// queue, the running turn, the session. An actor exists while there is something to do:
//
//	          accept                 ┌────────┐  queue empty, no turn
//	Inbound ──────────> inbox ──────>│ idle   │──────────────────────> gone
//	                                 └───┬────┘
//	                          message    │    ^  turn ended: history stored, then the next
//	                                     v    │
//	                                 ┌────────┴┐
//	              commands, /stop ──>│ turn    │  agent and preview run; both end before done
//	                                 └─────────┘
//
// The actor owns its state in parts, which packages of their own keep and test without it: what waits for an answer
// (queue), what waits for a person (approval), and what was said (history). None of them starts a goroutine but by a timer; what a turn's
// goroutine shares with the actor says so.
//
// A turn is fenced by being owned: its effects on the session are made by the actor after
// the turn's goroutines have ended, so a late one has nowhere to write.
package gateway
