// Package preview keeps the visible messages of one reply equal to the newest view of it,
// within the platform's budget, and then makes them final.
//
// A Reply is one state machine for all platforms, owned by one goroutine. Deciding and doing
// are apart: next is a pure function of the state and the time that names one action, settle
// is the only one that folds the outcome of that action into the state, and Run is the
// thin loop between them that waits, asks the budget and makes the call.
//
//	         ┌──────────── Slot (newest view, ending) <── the turn
//	         v
//	next(state, now) ──> action ──> budget ──> next again ──> platform ──> settle(outcome)
//	         ^                     (the newest text goes out, not the one that queued)  │
//	         └──────────────────────────────────────────────────────────────────────────┘
//
// next has two halves. The layout says what each message shall be: it shows a display, it stays as it is, or it is gone.
// The layout is show for previews, textsAtEnd for the ending, and askBeside for a question. One planner, plan, compares that
// with the message and names one call. settle has two halves too: what a success changes, and for a failure the table
// failuresOf, by the kind of the call and the kind of the error.
//
// A message has one of three roles. It is of the text; or it holds a question that no preview can show; or it is
// superseded: it can't be edited any more, another message takes its place in the text, and then it is deleted.
//
// What the turn does beside writing stands around the text of a preview, in a frame: what the model thinks above,
// the tools and the question to a person below. Frames are in no record and no final.
//
// A message is in one of four phases. An outcome of a call takes it from one to another:
//
//	absent    ───> standing   a create succeeded, or a message of an earlier create was found
//	absent    ───> streaming  the create began a stream, or an earlier one may have
//	streaming ───> standing   the stream was stopped
//	standing  ───> absent     it was deleted, can't be edited any more, or its chat has a new id: another takes its place
//	streaming ───> absent     its chat has a new id
//	standing  ───> gone       a person deleted it
//	streaming ───> gone       a person deleted it
//	gone      ───> standing   the final needs it again
//	gone      ───> absent     what was made in its place has no id: as a preview it can't be edited, so it does not count
//	gone      ───> streaming  the same, where an earlier create may have begun a stream
//
// Beside its phase a message knows how sure it is what it shows. Where a create was not answered it has an attempt, which
// knows how the outcome is learned: by repeating the create under its key, by asking the platform, or not at all.
//
// What was delivered is judged by content: a message counts as final when the payload that
// the platform last acknowledged for it equals the rendered final and has no cursor.
package preview
