// Package preview keeps the visible messages of one reply equal to its newest view, within the platform's
// budget, and then makes them final.
//
// A Reply is one state machine for all platforms, owned by one goroutine. Decisions and effects are separate:
// next is a pure function of the state and the time, and it returns one action. Only settle applies the outcome of
// an action to the state. Run is the loop between them that waits, asks the budget and makes the call.
//
//	         ┌──────────── Slot (newest view, ending) <── the turn
//	         v
//	next(state, now) ──> action ──> budget ──> next again ──> platform ──> settle(outcome)
//	         ^                     (the newest text goes out, not the one that queued)  │
//	         └──────────────────────────────────────────────────────────────────────────┘
//
// next works in two steps. First, a layout function decides the aim of each message: show a display, stay as it is, or
// be deleted. (The functions are show for previews, textsAtEnd for the ending, and planQuestion for a question.) Then
// plan compares the aim with the message and returns one call. settle applies a success itself; for a failure it uses
// the table failuresOf, which is indexed by the kind of call and the kind of error.
//
// A message has one of three roles. It is part of the text, or it asks a question that no preview can show, or it is
// superseded. A superseded message can't be edited any more; another message replaces it in the text, and then it is deleted.
//
// The progress of a turn is shown in a frame around the text of a preview: the model's thoughts above, the tools
// and the question to a person below. Frames are neither recorded nor part of the final.
//
// A message is in one of four phases. The outcome of a call moves it to another phase:
//
//	absent    ───> standing   a create succeeded, or a message of an earlier create was found
//	absent    ───> streaming  the create began a stream, or an earlier create may have begun one
//	streaming ───> standing   the stream was stopped
//	standing  ───> absent     it was deleted, can't be edited any more, or its chat has a new id: another message takes its place
//	streaming ───> absent     its chat has a new id
//	standing  ───> gone       a person deleted it
//	streaming ───> gone       a person deleted it
//	gone      ───> standing   the final needs it again
//	gone      ───> absent     a preview was created in its place without a message id; it can't be edited, so it does not count
//	gone      ───> streaming  it was created again, and an earlier create under its key may have begun a stream
//
// Besides its phase, a message has a certainty: whether its visible content is known. While the outcome of a create is
// unknown, its attempt records how to learn the outcome: by repeating the create under its key, by asking the platform,
// or not at all. A create may take effect late: on some platforms at any time, elsewhere if the process that made it
// only lost its lease and still runs. In these cases, a message that was not found is sent again, and the platform is
// searched a second time later. Until the second search, the lost message counts as superseded.
//
// Delivery is judged by content: a message counts as final when the payload that the platform last acknowledged
// equals the rendered final and has no cursor.
package preview
