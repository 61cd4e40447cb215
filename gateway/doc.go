// Package gateway connects the chat platforms with the agent. It checks access, keeps the order of every
// conversation, runs turns and commands, and shuts down cleanly.
//
// Each conversation has one actor, and each actor one goroutine that owns its state: the queue, the running
// turn, the session. An actor exists only while it has something to do:
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
// Separate packages hold parts of the actor's state and are tested without it: queued messages (queue),
// proposals that wait for a person (approval), and past messages (history). They start no goroutines except
// timers. Data shared between a turn's goroutine and the actor is marked as shared.
//
// Only the actor changes the session, and it applies the effects of a turn after the turn's goroutines have ended.
// So a late goroutine can't write to the session.
package gateway
