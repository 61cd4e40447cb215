// Package preview keeps the visible messages of one reply equal to the newest view of it,
// within the platform's budget, and then makes them final.
//
// A Reply is one state machine for all platforms, owned by one goroutine. Deciding and doing
// are apart: next is a pure function of the state and the time that names one action, settle
// is a pure function that folds the outcome of that action into the state, and Run is the
// thin loop between them that waits, asks the budget and makes the call.
//
//	         ┌──────────── Slot (newest view, ending) <── the turn
//	         v
//	next(state, now) ──> action ──> budget ──> next again ──> platform ──> settle(outcome)
//	         ^                     (the newest text goes out, not the one that queued)  │
//	         └──────────────────────────────────────────────────────────────────────────┘
//
// What the turn does beside writing stands around the text of a preview, in a frame: what the model thinks above,
// the tools and the question to a person below. Frames are in no record and no final. A question that somebody must
// see is shown even where there are no previews, if need be in a message apart from the reply.
//
// What was delivered is judged by content: a message counts as final when the payload that
// the platform last acknowledged for it equals the rendered final and has no cursor.
package preview
