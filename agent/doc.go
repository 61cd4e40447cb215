// Package agent runs one turn: it calls the model, streams what the model writes as events,
// adds up what was used, and returns the whole outcome as a Result. It does not know that
// chats exist.
//
//	agent.go      Run: the turn's frame, and what its end makes of the text
//	run.go        the turn: an answer, its calls, the next answer
//	resume.go     what an earlier process did of it
//	pipeline.go   several nodes in place of one answer
//	chain.go      which model is asked, and when one rests
//	ask.go        the attempts at one answer of one model: tried again, asked once more
//	attempt.go    one attempt: streamed or whole, its silence, what it used
//	reply.go      deltas in; text for people and calls out
//	think.go      thinking taken out of the text while it streams
//	code.go       where in a text code is, for think.go
//	callbuffer.go calls put together from the fragments that providers send (pure)
//	calls.go      what a model wrote made a call, or an error that it can mend (pure)
//	step.go       the calls of one answer: approved, kept, run, answered
//	dispatch.go   calls run side by side, each with its deadline
//	progress.go   what they tell, brought together
//	status.go     a call's states, as events
//	text.go       text from outside: on one line, shortened (pure)
//	output.go     what comes of a call, made to fit (pure)
//	propose.go    what a person is asked (pure)
//	plain.go      text of which a person sees everything (pure)
//	history.go    what the conversation grows by; a crashed turn's steps mended (pure)
//	limits.go     the clocks of a turn
//	retry.go      when to try again (pure)
//	meter.go      what each model used
//	lines.go      the fixed lines
//	fit.go        what is asked of the model, made to fit its window
//	draft.go      a request on its way to fit (pure)
//	compact.go    older messages turned into a summary by the model
//	image.go      which images are sent (pure)
//	learned.go    what turns found out about a model
//	estimate.go   tokens without a tokenizer
//	stream.go     Run as an iterator
//	model.go      what a model API must provide; one package below this one each
//	tool.go       what a tool must, and who approves and remembers its calls
//	provenance.go who wrote what (pure)
//	wrote.go      whether the asker typed an address (pure)
//
// # Tools
//
// While an answer has calls, they are run, their results stand behind it, and the model is asked again.
// What all these answers say is one reply, a paragraph each. Calls of tools that only read run side by
// side; the others follow one after the other, each once a person has approved it, while the
// turn's clock stands still. What a model got wrong (a name, arguments that are no JSON) and
// what went wrong with a call (an error, a panic, a deadline, a denial) is told to it as that
// call's result. Results are text of at most 64 KiB; longer ones are cut and binary data is refused, and
// the model is told their size.
//
// However a turn ends, each call in its history has exactly one answer, in the order of the calls: providers
// refuse a conversation in which it is not so. Ids are unique in a turn.
//
// People see a call as it goes identified, as soon as its name is known, executing, and completed or failed;
// interrupted while a person is waited for. A call that comes to nothing, because the answer
// it was in broke, has failed.
//
// Files and images that tools make are handed to people with the Result, at most ten and 20 MB for one turn;
// the model is told what they don't get.
//
// Where a turn may call no more tools, or may ask for its last answer, the model is asked without tools, so
// that an answer comes; a line behind it and Result.Stop say so.
//
// A Journal hears of what the turn used before the next attempt, of a step before its calls run, of a call that changes something before it runs, and of
// what came of each. So a turn that a crash ended goes on behind what it had done: calls that were not
// begun, or only read, are run once their tools are there; of the others the model is told that nobody knows.
// Where nobody goes on with it, Mended closes its history.
//
// # Trouble with the model
//
// Every answer is streamed, also one that nobody reads as it comes, such as a summary: silence can only be seen in a
// stream. A provider that refuses to stream is asked without, silently.
//
// An attempt that the provider refuses is made up to four times, after growing waits or when the provider says. Once
// the provider was at work, a failed attempt may cost what a whole answer costs: when the stream breaks, falls silent
// or never begins, there is one more attempt. What was told stays until the second answer is whole and a Reset voids
// it. Every attempt that reached a provider counts in Limits.ModelCalls and in what the turn used.
//
// A provider that takes no images, or no tools, is asked without once and for ten minutes; one that refuses calls it
// did not make itself gets them told as text.
//
// A model with which nothing more can be tried is followed by the next one of the chain, and a Reset voids
// what it had told in the answer that broke. The turn stays with that model. One that fails in turn after
// turn rests for minutes, in which the others are asked first. When none is left, the turn ends with an error
// and with the text that had come.
//
// # Long conversations
//
// Before each request the system prompt, the summary and the messages are estimated, by a factor
// that the provider's own counts calibrate. What does not fit beside the answer is made to: long
// results of tools are shortened, then the older messages are summarized, so that the newest
// half of the room stays as it was said, then the oldest are left out. A summary is a call like
// any other, and never the last one that the turn may make.
//
// Where the question alone would not fit, the longest answer is made shorter first, then results of tools, then what
// describes the tools, the longest first. A provider that finds a request too long all the same teaches its window, when
// it says so, or that the room is smaller, for ten minutes; the next request is smaller, at last the question with as
// little as possible. The log names what took the room and the configuration's key for it. People read that their
// question is too long only when it is.
//
// # Goroutines
//
// Each tool call has one; Run waits for them, but for those that don't end when their context has: these are
// given up after a second. All else, the events and the journal too, happens in the goroutine that called
// Run.
package agent
