// Package agent runs one turn: it calls the model, streams what the model writes as events,
// adds up what was used, and returns the whole outcome as a Result. It does not know that
// chats exist.
//
//	agent.go     Run: the turn's frame, and what its end makes of the text
//	run.go       the model calls of a turn: streamed or whole, tried again, asked once more
//	reply.go     the model's text on its way to people
//	think.go     thinking taken out of the text while it streams
//	code.go      where in a text code is, for think.go
//	limits.go    the clocks of a turn
//	retry.go     when to try again (pure)
//	lines.go     the fixed lines
//	fit.go       what is asked of the model, made to fit its window
//	draft.go     a request on its way to fit (pure)
//	compact.go   older messages turned into a summary by the model
//	image.go     which images are sent (pure)
//	learned.go   what turns found out about a model
//	estimate.go  tokens without a tokenizer
//	stream.go    Run as an iterator
//	model.go     what a model API must provide; one package below this one each
//
// # Trouble with the model
//
// A call that fails before its first token is tried up to four times, after growing waits or
// when the provider says. A stream that breaks after its first token is asked for once more,
// whole; what was told stays until the whole answer is there and a Reset voids it. A provider
// that can't stream is asked without, silently. Everything else ends the turn with an error
// and with the text that had come.
//
// # Long conversations
//
// Before each request the system prompt, the summary and the messages are estimated, by a factor
// that the provider's own counts calibrate. What does not fit beside the answer is made to: long
// results of tools are shortened, then the older messages are summarized, so that the newest
// half of the room stays as it was said, then the oldest are left out. A summary is a call like
// any other, and never the last one that the turn may make. A provider that finds a request too
// long all the same teaches that its room is smaller and is asked with less, at last with the
// question alone. People meet a context error only as the line that their question is too long.
//
// # Goroutines
//
// A turn has none of its own: events are emitted, and the model is read, in the goroutine that
// called Run. Timers end contexts, nothing else.
package agent
