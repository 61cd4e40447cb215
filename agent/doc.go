// Package agent runs one turn: a question of a person, and the model's reply. Run calls the model, emits events while the
// model writes, adds up the usage, and returns the outcome of the turn as a Result. The package contains no code for chats.
//
//	agent.go      Run: the beginning and the end of a turn
//	run.go        the loop of a turn: asks the model, runs its tool calls, asks again
//	resume.go     continues a turn that an earlier process began
//	pipeline.go   several models that answer one after the other
//	chain.go      chooses the model; failing models get a cooldown
//	ask.go        gets one answer from one model, in several attempts
//	attempt.go    one attempt: reads the deltas, limits silence, counts the usage
//	reply.go      turns the deltas of an answer into events
//	think.go      separates thinking from the text while it streams
//	client.go     tools that the caller runs, and the caller's parameters
//	code.go       finds code in a text, for think.go
//	callbuffer.go joins the fragments in which providers send calls (pure)
//	calls.go      parses tool calls; describes mistakes to the model (pure)
//	step.go       the tool calls of one answer: approval, journal, results
//	dispatch.go   runs calls in parallel, each with its deadline
//	progress.go   merges the progress reports of parallel calls
//	status.go     the states of calls, as events
//	text.go       puts a text on one line, or shortens it (pure)
//	output.go     limits the output of a call (pure)
//	propose.go    describes a call to the person who must approve it (pure)
//	plain.go      text without hidden characters (pure)
//	history.go    the messages that a turn adds; completes the history of a crashed turn (pure)
//	limits.go     the clocks of a turn
//	retry.go      decides whether to repeat a failed request, and when (pure)
//	meter.go      the usage of each model
//	lines.go      fixed texts that tell people why a turn ended early
//	fit.go        makes a request fit the model's window
//	draft.go      a request that is being shortened (pure)
//	compact.go    replaces older messages by a summary that the model writes
//	image.go      chooses the images that are sent (pure)
//	facts.go      remembers what earlier requests showed about a model
//	blame.go      finds the part of a request that a provider refuses
//	estimate.go   estimates tokens without a tokenizer
//	stream.go     Run as an iterator
//	model.go      the interface of a model API; each API has a package
//	tool.go       the interfaces of tools, approvers and journals
//	provenance.go says who wrote each text that the model reads (pure)
//	typedurl.go   checks whether the asker typed an address (pure)
//
// # Tools
//
// If an answer contains tool calls, Run executes the calls, appends their results to the conversation, and asks the model
// again, until an answer contains no calls. People read the texts of all these answers as one reply, in which each answer
// begins a new paragraph. Calls of read-only tools run in parallel. Calls that change something run one after the other, each
// after a person has approved it; the turn's clock is paused while the person decides. If the model made a mistake (an
// unknown name, invalid arguments) or a call fails (an error, a panic, a deadline, a denial), the result of the call is a
// text that describes the problem. A result has at most 64 KiB of text. Run cuts longer text and leaves out binary data; a
// note tells the model how much is missing.
//
// However a turn ends, its history contains exactly one result for each tool call, in the order of the calls, because
// providers refuse any other conversation. The ids of calls are unique in a turn.
//
// The state of a tool call is first identified (the tool's name is known), then executing, then completed or failed. While a
// person decides about the call, its state is interrupted. If an answer breaks off, its calls become failed.
//
// The Result contains the files and images that tools made for people, at most ten files and 20 MB per turn. For each file
// beyond these limits, a note tells the model that people don't get it.
//
// When a turn has used up its tool calls, or has only one model call left, Run offers the model no tools except
// Turn.ClientTools, so that the model answers. Result.Stop and a line after the text then say which limit was reached.
//
// With a Journal, a turn can continue after a crash. Run stores in the Journal the usage before each attempt, each step before
// its calls run, the beginning of each call, and each result. After a crash, the next process runs the calls that had not
// begun. The next process also repeats the read-only calls that were stopped because the turn ended. Before it runs these
// calls, the next process waits some time for their tools. For all other calls without a result, the model reads that the
// outcome is unknown. If a turn is not continued, Mended adds the missing results to its history.
//
// # Tools of the caller
//
// Run also offers Turn.ClientTools to the model. The caller of Run executes the calls of client tools. If an answer calls a
// client tool, the turn ends. After the turn, the caller runs the client tool's call and begins another turn, with the results
// as messages. If the same answer also calls the agent's own tools, these calls are dropped, because the caller's next turn
// could not contain their results.
//
// # Model failures
//
// Run requests every answer as a stream, even a summary that nobody watches, because only a stream shows that a model hangs.
// If a provider refuses to stream, Run requests answers in one piece.
//
// If a provider is unreachable or overloaded, Run repeats the request up to three times, after a backoff or after the time that
// the provider asks for. Once the provider has begun to work on a request, the request may cost as much as a whole answer. If a
// stream breaks, falls silent or never begins after the provider began to work, Run repeats the request only once. People still
// see the text of the broken answer until the second answer is complete and a Reset replaces that text. Every attempt that
// reached a provider counts in Limits.ModelCalls and in the turn's usage.
//
// If a provider refuses images or tools, Run omits them from requests for ten minutes. If a provider refuses tool calls of
// another model in the history, Run sends them as text.
//
// When all attempts of a model have failed, Run asks the next model of the chain, and a Reset voids the text of the failed
// answer. The turn's later requests go to the new model, too. A model that fails in several turns gets a cooldown of some
// minutes, during which Run asks the other models first. When no model is left, Run returns an error, and the Result contains
// the text so far.
//
// # Long conversations
//
// Before each request, Run estimates the tokens of the system prompt, the summary and the messages. The usage that the provider
// reports calibrates this estimate. If the request and the answer together exceed the model's context window, Run first
// shortens long results of tools. If the request is still too long, the model summarizes the older messages; the newest
// messages, about half of the request, stay unchanged. If the summary does not make the request short enough, Run leaves out
// the oldest messages. A summary counts as a model call of the turn, but Run never uses the last model call for a summary.
//
// If even the question without older messages does not fit, Run first lowers the maximum length of the answer. If the request
// is still too long, Run shortens results of tools, and finally the descriptions of tools, the longest first. If the provider
// still refuses the request because of its length, Run sends a shorter one, and in the end only the question. For ten minutes,
// Run remembers the window that the provider reported, or the length that the provider refused. If no shorter request fits, the
// log names the largest part of the request and the key of this part in the configuration. People read that their question is
// too long only if the question is the largest part.
//
// # Goroutines
//
// Each tool call has its own goroutine. Run waits for the goroutines of its tool calls. If a call does not return within a
// second after its context has ended, Run does not wait for it any longer. All other work of a turn, including the events and
// the journal, happens in the goroutine that called Run.
package agent
