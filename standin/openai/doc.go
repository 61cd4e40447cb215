// Package openai imitates a model provider that speaks the OpenAI API, for tests, demos and
// benchmarks of any program that talks to one. It is strict about requests, gives the same
// answer to the same question, and fails on request in the ways that real providers do.
//
// It was written from the published API and from reports about compatible providers, shares
// no code with the program under test, and uses only the standard library. Time is taken from
// time.Now and time.NewTimer alone: inside a testing/synctest bubble, over an in-memory
// listener, it runs in virtual time.
//
//	s := openai.New(openai.Options{Key: "sk-test", Models: []string{"gpt-5-mini"}})
//	go func() { done <- s.Serve(listener) }()
//	defer func() { s.Close(); <-done }()
//
// # API
//
// POST /v1/chat/completions and POST /v1/responses, streamed or not; POST /v1/audio/transcriptions;
// GET /v1/models and /v1/models/{model}. All of them are there without /v1 too. A wrong key, address, method, parameter, role or order of
// messages is refused with the status and the error body that OpenAI sends, unknown
// parameters included. max_tokens, max_completion_tokens (one of the two) and stop are
// honoured; n must be 1. Nobody who presents the right key is limited in rate.
//
// The Responses API takes messages, function calls with their results, and reasoning as input, and
// functions as tools. It stores nothing, whatever store says: an answer can be referred to only by
// what was included of it, reasoning by its encrypted_content, which must be of this server, of the
// same model and followed by what it led to.
//
// # Answers
//
// The answer depends on the last user message alone, without a name in brackets before it
// ("[Ann] say: x"), and is what [Answer] returns for it. By
// default it is a few hundred words of Markdown with headings, bold and italic text, both
// kinds of lists, a table, a quote, a link, inline code and a fenced code block; a question
// about tides gets a text on tides. Short forms ask for something else:
//
//	say: TEXT        exactly TEXT
//	words: N         N words, all different: "one two three …"
//	length: N        exactly N characters of Markdown, all ASCII
//	recall: N        the N-th user message of the conversation, from 1
//	images:          the images of this message, a line for each: "640x480 png, 1234 bytes"
//	files:           the files of this message, a line for each: "a.pdf, application/pdf, 1234 bytes"
//	history:         the whole conversation, one numbered "role: text" line for each message
//	call: NAME ARGS  a call of the tool NAME with the JSON arguments ARGS; one line for each
//	                 call, other lines are the text beside them. Once the results have come,
//	                 the answer lists them as "- NAME: RESULT".
//
// A message that begins with "Summarize" is answered by a summary: every sentence or line of the
// whole conversation, system message included, that contains "remember" or "my name is", once
// each and in order, then a line about the rest.
//
// "What did I say first?" and "What did I say before?" are answered from the conversation too,
// and "What is in this picture?" from its headers. Images come as data URLs of png, jpeg, gif or webp, up to 20 MB; their headers are read. An
// http address is refused as one that can't be reached. Files come as data URLs of PDF files, up to
// 50 MB in a request, in both APIs. A transcription is the text of an ASCII
// line "say: TEXT" in the recording, else "This is a recording of N bytes."; formats go by the
// extension of the file name.
//
// A token is a short word with its leading space, a piece of a longer word, or punctuation;
// see [Tokens].
//
// # Settings
//
// Settings change how a request is answered. They stand in the Do of a [Rule], or in the
// user's message in a directive, which is cut out before the message is read:
//
//	{{standin rate=20 jitter=0.3 first=2s cut=120}} Explain the tides
//	{{standin status=429 retry_after=2 times=1}} say: better the second time
//
// A value with white space or braces is quoted like a Go string. A misspelt setting is an
// error, 400 with the code standin_directive. Only directives in the last user message count.
// N is a number of tokens unless something else is said, D a time such as 250ms.
//
// Which requests, and when:
//
//	on=KIND             stream or plain: only requests for an answer that stream, or don't; chat:
//	                    both; audio: only transcriptions. Without it a rule is for all of them.
//	skip=N times=N      (directive only) not the first N requests with this question, and
//	                    then only N; rules have fields for it
//	rate=R              tokens per second, instead of Options.Rate; 0 is without pauses
//	jitter=S            each token comes early or late by up to this share (0 to 1) of an interval
//	delay=D             before the status line, of errors too
//	first=D             after the headers, before the first token
//	stall=N stall_for=D a pause after N tokens
//	chunk=N             N tokens in one delta; with "length: 1048576" a line of a megabyte
//
// What is answered:
//
//	say=TEXT            this instead of the answer
//	empty               nothing: no content at all
//	think=TEXT          reasoning before the answer
//	think_as=FORM       reasoning_content (default), reasoning, both, tags (<think>…</think> in
//	                    the content), open_tag_missing (only the closing tag is there)
//	refusal=TEXT        a refusal; without content unless say is set
//	finish=REASON       length, content_filter, error, anything; "" is empty, null stays null
//	call="NAME ARGS"    a tool call, again for each; with say for text beside it
//	again               calls even when results are there: a model that never stops calling
//	calls_as=FORM       index (default), gemini (whole, without index, with a signature, ended
//	                    with stop), ollama (whole, all of index 0), repeat_ids, empty_ids,
//	                    null_index
//	usage=on|off|each   usage at the end, never, or also running in every chunk; without it as
//	                    stream_options.include_usage says
//	cached=N            of the prompt's tokens
//	context=N           the context window, instead of Options.Context; 0 is without end. Prompt and
//	                    max_tokens beyond it are refused, 400 context_length_exceeded, and an
//	                    answer ends where it ends.
//	token_factor=F      the prompt counts so many times the usual tokens
//
// Errors instead of an answer:
//
//	status=S            400 to 599, with OpenAI's error for it
//	code=C message=M    in the error body; status=429 code=insufficient_quota is the error
//	                    which must not be retried
//	body=json|html|empty  html is the default from 502 up, as from a proxy
//	retry_after=V       the header Retry-After: seconds or a date
//	retry_after_ms=V    the header retry-after-ms
//	should_retry=V      the header x-should-retry
//	refuse=P,P          refuse these parameters: refuse=stream is a model that can't stream,
//	                    refuse=image one that sees nothing, refuse=file one that reads no files
//	require=P,P         refuse assistant messages with tool calls that come back without
//	                    reasoning_content (DeepSeek; in the Responses API: without the reasoning
//	                    before them) or thought_signature (Gemini)
//
// Endings. WHERE is a number of tokens, start (before the status line; cut and hang only),
// text (after the last token), finish (after finish_reason) or usage (before [DONE]). When the
// answer is shorter than the number, it ends at text. The last of several endings counts:
//
//	cut=WHERE           the connection breaks
//	eof=WHERE           the stream ends cleanly, but too early
//	hang=WHERE          silence until the client leaves
//	fail=WHERE          an error event, then the end of the stream without [DONE]
//	fail_as=FORM        openai (default), vllm ({"object":"error"}), openrouter (a chunk with
//	                    error and finish_reason "error"), event ("event: error"), nested (the same,
//	                    of the Responses API, with the error in a member of its own)
//
// Without streaming, cut and eof deliver a part of the document, fail is status 500, and finish
// and usage are no places.
//
// In the Responses API, finish means after the last item and before the event that ends the answer,
// usage after that event; fail is by default a response.failed. finish=length and content_filter are
// incomplete answers, finish=error a failed one. Reasoning is told as a summary where the request
// asks for one, as reasoning_text with think_as=reasoning or both, and else only counted. All forms
// of calls are the same; noise is events of unknown types; as=sse and json hold.
//
// The wire:
//
//	comment_every=N     an SSE comment after every N tokens
//	comment_interval=D  a comment after each D of silence, while hanging too; without streaming
//	                    an empty line
//	comment=TEXT        instead of "keep-alive": "OPENROUTER PROCESSING"
//	noise=N             after every N tokens a chunk without meaning: empty choices, a null
//	                    delta, usage without choices, in turn
//	pad=N               N more bytes of obfuscation in each chunk
//	crlf                lines end with CR LF
//	nospace             "data:{" without a space
//	multiline           an event's JSON spread over several data lines
//	no_last_newline     the last event lacks its line ends
//	as=sse|json|html    events, a document, or a page with status 200, whatever was asked for
//	content_type=TYPE   another Content-Type, with the same body
//
// For a transcription, Match and Regex look at the file name, and delay, say, empty, the errors,
// content_type, and cut, eof and hang at start have their meaning; others have none.
//
// # Control
//
// A test in the same process uses [Server.Rule], [Server.Requests], [Server.Stats],
// [Server.Wait] and [Server.Reset]. Other programs use HTTP, without a key:
//
//	POST /control/rule      add a rule: {"match":"tides","times":1,"do":"cut=40 on=stream"}
//	GET  /control/rule      the rules, and how many requests each of them has seen
//	GET  /control/requests  the records; ?after=ID only later ones, ?marks=1 with the time of
//	                        every token
//	GET  /control/stats     the counters
//	GET  /control/answer    ?question=… the text of Answer
//	POST /control/reset     forget rules, records and counters
//
// A record says when and how a request ended, and which images, files or which recording it had; that a client closed its connection is noticed
// at once, between tokens as well. So a test of cancellation reads:
//
//	curl -s localhost:9000/control/requests | jq '.[-1] | .end, .ended'
//	"client_closed"
//	"2026-11-21T04:02:13.4567Z"
package openai
