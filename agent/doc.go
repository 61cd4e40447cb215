// Package agent runs one turn: it calls the model, streams what the model writes as events,
// adds up what was used, and returns the whole outcome as a Result. It does not know that
// chats exist.
//
//	agent.go      Run: the beginning and the end of a turn
//	run.go        the turn: an answer, its calls, the next answer
//	resume.go     continues a turn that an earlier process began
//	pipeline.go   several nodes in place of one answer
//	chain.go      chooses the model; failing models get a cooldown
//	ask.go        the attempts at one answer of one model
//	attempt.go    one attempt: its deltas, its silence, its usage
//	reply.go      turns deltas into text for people and into calls
//	think.go      separates thinking from the text while it streams
//	client.go     tools that the caller runs, and the caller's parameters
//	code.go       finds code in a text, for think.go
//	callbuffer.go joins the fragments in which providers send calls (pure)
//	calls.go      parses calls; a mistake becomes an error that the model can correct (pure)
//	step.go       the calls of one answer: approve, store, run, answer
//	dispatch.go   runs calls in parallel, each with its deadline
//	progress.go   merges the progress reports of parallel calls
//	status.go     the states of calls, as events
//	text.go       puts text from outside on one line, and shortens it (pure)
//	output.go     limits the output of a call (pure)
//	propose.go    the question to a person (pure)
//	plain.go      text without hidden characters (pure)
//	history.go    the messages that a turn adds; the steps of a crashed turn (pure)
//	limits.go     the clocks of a turn
//	retry.go      when to try again (pure)
//	meter.go      the usage of each model
//	lines.go      the fixed lines
//	fit.go        makes a request fit the model's window
//	draft.go      a request while it is made to fit (pure)
//	compact.go    replaces older messages by a summary that the model writes
//	image.go      chooses the images that are sent (pure)
//	facts.go      what earlier requests showed about a model
//	blame.go      the parts of requests that a provider refuses
//	estimate.go   estimates tokens without a tokenizer
//	stream.go     Run as an iterator
//	model.go      the interface of a model API; each API has a package
//	tool.go       the interfaces of tools, approvers and journals
//	provenance.go who wrote what (pure)
//	typedurl.go   whether the asker typed an address (pure)
//
// # Tools
//
// While an answer contains tool calls, Run executes them, appends their results, and asks the model again. The texts of all
// these answers form one reply, a paragraph each. Calls of read-only tools run in parallel. Other calls run one after the
// other, each after a person has approved it; the turn's clock is paused meanwhile. A mistake of the model (an unknown name,
// invalid arguments) or a failed call (an error, a panic, a deadline, a denial) becomes that call's result. A result has at
// most 64 KiB of text. Longer ones are cut and binary data is refused, and the model is told the size.
//
// However a turn ends, each call in its history has exactly one answer, in the order of the calls: providers refuse any other
// conversation. Ids are unique in a turn.
//
// A call's state goes from identified (its name is known) to executing to completed or failed. It is interrupted while
// a person decides. A call in an answer that broke off has failed.
//
// Files and images of tools are part of the Result, at most ten files and 20 MB per turn. The model is told which of
// them people don't get.
//
// When a turn may call no more tools, or may make only one more model call, the model is asked without tools, so that
// it answers. A line after the text and Result.Stop say so.
//
// A Journal stores the turn's usage before the next attempt, each step before its calls run, each call that changes
// something before it runs, and each result. So a turn can continue after a crash. Calls that had not begun run as soon
// as their tools are available. So do read-only calls that the end of the turn stopped. For all other calls without a
// result, the model is told that the outcome is unknown. Mended closes the history of a turn that nobody continues.
//
// # Tools of the caller
//
// Turn.ClientTools are offered to the model beside the agent's own tools. An answer that calls one ends the turn; the caller runs
// the calls and asks again in another turn, with the results as messages. The agent's own calls in such an answer are dropped: the
// caller's next request could not contain their results.
//
// # Model failures
//
// Every answer is streamed, even one that nobody watches, such as a summary, because only in a stream can silence be
// noticed. A provider that refuses to stream is asked without streaming.
//
// An attempt that the provider refuses for the moment is repeated, up to four attempts in all: after a backoff, or
// after the time that the provider asks for. Once the provider has started to work, an attempt may cost as much as a
// whole answer. If the stream then breaks, falls silent or never begins, there is one more attempt. The shown text
// stays until the second answer is complete and a Reset replaces it. Every attempt that reached a provider counts in
// Limits.ModelCalls and in the turn's usage.
//
// A provider that accepts no images, or no tools, is asked without them for ten minutes. A provider that refuses tool
// calls of another model in the history gets them as text.
//
// When nothing more can be tried with a model, the next one of the chain follows, and a Reset voids the text of the broken
// answer. The turn stays with that model. A model that fails in several turns gets a cooldown of minutes, in which the others
// are asked first. When no model is left, the turn ends with an error and with the text so far.
//
// # Long conversations
//
// Before each request, the tokens of the system prompt, the summary and the messages are estimated. The provider's counts
// calibrate the estimate. If the request does not fit beside the answer, long results of tools are shortened first. Then the
// model summarizes the older messages, so that the newest half of the room stays unchanged. Then the oldest messages are left
// out. A summary is a model call like any other, and never the last one that the turn may make.
//
// If the question alone does not fit, the answer's limit is lowered first. Then results of tools are shortened, then the
// descriptions of tools, the longest first. If the provider still finds a request too long, the next one is smaller; in the
// end only the question is left. The provider's stated window, or the smaller room, is remembered for ten minutes. The log names
// the part that needs the most room and its key in the configuration. People read that their question is too long only when
// it is.
//
// # Goroutines
//
// Each tool call has its own goroutine. Run waits for these goroutines, but gives up a call that does not end within a
// second after its context. Everything else, including the events and the journal, happens in the goroutine that called
// Run.
package agent
