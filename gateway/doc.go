// Package gateway connects the chat platforms with the agent. The gateway checks who has access, answers the messages
// of each conversation in their order, runs turns and commands, and shuts down cleanly.
//
// Each conversation has one actor. The actor is one goroutine that owns the state of the conversation: the queue, the
// running turn, the session. An actor exists only while it has something to do:
//
//	          accept                 ┌────────┐  queue empty, no turn
//	Inbound ──────────> inbox ──────>│ idle   │──────────────────────> gone
//	                                 └───┬────┘
//	                          message    │    ^  turn ended: history stored, then the next
//	                                     v    │
//	                                 ┌────────┴┐
//	              commands, /stop ──>│ turn    │  agent and preview run; the turn ends after both
//	                                 └─────────┘
//
// Three packages hold parts of the actor's state, so that tests need no actor: queue holds the queued messages, approval
// the proposals that wait for a person, and history the past messages. The packages queue, approval and history start no
// goroutines except timers. If the actor shares a variable with a turn's goroutine, a comment at the variable says so.
//
// Only the actor changes the session. The actor applies the effects of a turn after the turn's goroutines have ended,
// so a late goroutine can't write to the session.
package gateway
