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
// # Goroutines
//
// A turn has none of its own: events are emitted, and the model is read, in the goroutine that
// called Run. Timers end contexts, nothing else.
package agent
