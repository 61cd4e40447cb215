// Package preview shows one reply in the chat while the model writes it. The package sends and edits the reply's
// messages within the platform's rate limits until they show the complete answer.
//
// A Reply is one state machine for all platforms, owned by one goroutine. Decisions and effects are separate. The
// function next chooses one action; its result depends only on the state and the time. Only the function settle applies
// the outcome of an action to the state. The loop in Run calls next, waits for the budget, makes the call to the
// platform, and passes the outcome to settle.
//
//	         ┌──────────── Slot (newest view, ending) <── the turn
//	         v
//	next(state, now) ──> action ──> budget ──> next again ──> platform ──> settle(outcome)
//	         ^                     (the newest text goes out, not the one that queued)  │
//	         └──────────────────────────────────────────────────────────────────────────┘
//
// The function next works in two steps. First, a layout function decides the aim of each message: the message must show
// a certain content, stay as it is, or be deleted. (The layout functions are show for previews, textsAtEnd for the
// ending, and planQuestion for a question.) Then the function plan compares each message with its aim and returns the
// next call. If the call fails, settle looks up in the table failuresOf, by the kind of call and the kind of error, how
// the state changes.
//
// A message has one of three roles: it is part of the text, it asks a question that no preview can show, or it is
// superseded. A superseded message can't be edited any more; another message replaces it in the text, and then the
// superseded message is deleted.
//
// The progress of a turn is shown in a frame around the text of a preview. The model's thoughts are above the text, and
// the tools and the question to a person are below. The store does not contain the frame, and the final has no frame.
//
// A message is in one of four phases. The outcome of a call moves the message to another phase:
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
// Besides its phase, a message has a certainty, which tells whether the visible content of the message is known. If the
// outcome of a create call is unknown, the field attempt of the message records how to learn whether the message
// exists. The bot repeats the call with the same idempotency key, or searches the platform for the message. On some
// platforms, the bot can neither repeat the call safely nor search. On some platforms, a create call may take effect
// long after it failed. On any platform, a create call may take effect late if another process made it, lost its lease,
// and still runs. A search may not find the message of a create call that may take effect late. If the search does not
// find such a message, the bot sends the message again, and later searches a second time. Until the second search, the
// bot treats the message that was not found as superseded.
//
// Delivery is judged by content: a message counts as final when the payload that the platform last acknowledged
// equals the rendered final and has no cursor.
package preview
