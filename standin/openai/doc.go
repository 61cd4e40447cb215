// Package openai imitates a model provider with the OpenAI API, for tests, demos and benchmarks of any program that
// uses a model. The server refuses invalid requests, gives the same answer to the same question, and can fail in the
// same ways as real providers.
//
// The package was written from the documentation of the API and from reports about compatible providers. The package
// shares no code with telex's client of this API. The only sources of time are time.Now and time.NewTimer, so the
// server runs in virtual time inside a testing/synctest bubble with an in-memory listener.
//
//	s := openai.New(openai.Options{Key: "sk-test", Models: []string{"gpt-5-mini"}})
//	go func() { done <- s.Serve(listener) }()
//	defer func() { s.Close(); <-done }()
//
// # API
//
// The server answers POST /v1/chat/completions and POST /v1/responses, with and without streaming; POST
// /v1/audio/transcriptions; GET /v1/models and /v1/models/{model}. Each path also works without /v1. The server refuses
// a request with a wrong key, path, method, role or order of messages with OpenAI's status and error body. The server
// also refuses a wrong or unknown parameter. max_tokens, max_completion_tokens (only one of the two) and stop have an
// effect. n must be 1. The server enforces no rate limit.
//
// The input of the Responses API may contain messages, function calls with their results, and reasoning. All tools must
// be functions. The server stores no answers, not even with the parameter store, so a request must contain the earlier
// answers itself. The input contains earlier reasoning as encrypted_content, which must come from this server and from
// the same model. After a reasoning item, the input must contain the items that the model wrote after the reasoning.
//
// # Answers
//
// The answer depends only on the last user message. The server ignores a name in brackets before the message ("[Ann]
// say: x"). The function [Answer] returns the answer to a message. The default answer is a few hundred words of
// Markdown with headings, bold and italic text, both kinds of lists, a table, a quote, a link, inline code and a fenced
// code block. The answer to a question about tides is a text on tides. With these short forms, a message requests
// another answer:
//
//	say: TEXT        exactly TEXT
//	words: N         N words, all different: "one two three …"
//	length: N        exactly N characters of Markdown, all ASCII
//	recall: N        the N-th user message of the conversation, from 1
//	images:          the images of this message, a line for each: "640x480 png, 1234 bytes"
//	files:           the files of this message, a line for each: "a.pdf, application/pdf, 1234 bytes"
//	history:         the whole conversation, one numbered "role: text" line for each message
//	call: NAME ARGS  a call of the tool NAME with the JSON arguments ARGS; one line for each
//	                 call, and other lines become the text beside the calls. When the results
//	                 have come, the answer lists them as "- NAME: RESULT".
//
// The answer to a message that begins with "Summarize" is a summary. The summary contains each sentence or line of the
// conversation, including the system message, that contains "remember" or "my name is", once and in order. The last
// line of the summary counts the sentences that the summary leaves out.
//
// The answers to "What did I say first?" and "What did I say before?" quote the conversation. The answer to "What is in
// this picture?" states what the headers of the images contain. Images are data URLs of png, jpeg, gif or webp, up to
// 20 MB. The server refuses an image with an http URL as unreachable. In both APIs, files are data URLs of PDF files,
// up to 50 MB in a request. A transcription is the text after "say:" in an ASCII line of the recording. If the
// recording contains no such line, the transcription states the size of the recording in bytes. The file name's
// extension determines the format of the recording.
//
// A token is a short word with its leading space, a piece of a longer word, or punctuation;
// see [Tokens].
//
// # Settings
//
// Settings change how the server answers a request. A test writes settings into the field Do of a [Rule], or into a
// directive in the user's message. The server removes the directive before it reads the message:
//
//	{{standin rate=20 jitter=0.3 first=2s cut=120}} Explain the tides
//	{{standin status=429 retry_after=2 times=1}} say: better the second time
//
// A value with white space or braces must be quoted like a Go string. A misspelt setting causes an error with status
// 400 and the code standin_directive. Only directives in the last user message take effect. In the following lists, D
// is a duration such as 250ms. N is a number of tokens, except where a list names another unit.
//
// These settings select requests, or determine times:
//
//	on=KIND             stream or plain: only requests with streaming, or only those without; chat:
//	                    both; audio: only transcriptions. Without on, all requests are selected.
//	skip=N times=N      (directive only) skip the first N requests with this question, and
//	                    then select N; a Rule has the fields Skip and Times instead
//	rate=R              tokens per second, instead of Options.Rate; 0: no pauses
//	jitter=S            each token is sent early or late by up to this fraction (0 to 1) of an interval
//	delay=D             a pause before the status line, also of errors
//	first=D             a pause after the headers, before the first token
//	stall=N stall_for=D a pause after N tokens
//	chunk=N             N tokens in one delta; with "length: 1048576" a line of a megabyte
//
// These settings determine the content of the answer:
//
//	say=TEXT            the answer
//	empty               no content at all
//	think=TEXT          reasoning before the answer
//	think_as=FORM       reasoning_content (default), reasoning, both, tags (<think>…</think> in
//	                    the content), open_tag_missing (only the closing tag is there)
//	refusal=TEXT        a refusal; the answer has no content unless say is set
//	finish=REASON       the finish_reason: length, content_filter, error or any text; "" is an empty text,
//	                    and with null it stays null
//	call="NAME ARGS"    a tool call; repeat the setting for more calls; say sets the text beside the calls
//	again               calls tools even after their results have arrived, like a model that never stops calling
//	calls_as=FORM       how calls are streamed: index (default), gemini (each call whole, without
//	                    index, with a signature; finish_reason is stop), ollama (each call whole,
//	                    with index 0), repeat_ids, empty_ids, null_index
//	usage=on|off|each   usage at the end, never, or also the usage so far in every chunk; without this
//	                    setting, stream_options.include_usage decides
//	cached=N            how many of the prompt's tokens count as cached
//	context=N           the context window, instead of Options.Context; 0: unlimited. A
//	                    request whose prompt and max_tokens exceed it is refused with 400
//	                    context_length_exceeded. An answer ends where the window ends.
//	token_factor=F      multiplies the number of prompt tokens
//
// With these settings, the server sends an error in place of an answer:
//
//	status=S            400 to 599, with OpenAI's error for it
//	code=C message=M    in the error body; status=429 code=insufficient_quota is the error
//	                    that must not be retried
//	body=json|html|empty  html is the default from 502 up, as from a proxy
//	retry_after=V       the header Retry-After: seconds or a date
//	retry_after_ms=V    the header retry-after-ms
//	should_retry=V      the header x-should-retry
//	refuse=P,P          refuse these parameters: refuse=stream imitates a model that can't stream,
//	                    refuse=image one without vision, refuse=file one that reads no files
//	require=P,P         refuse assistant messages with tool calls that come back without
//	                    reasoning_content (DeepSeek; in the Responses API: without the reasoning
//	                    items before the calls) or thought_signature (Gemini)
//
// These settings end the answer early. WHERE is a number of tokens, start (before the status line; only for cut and
// hang), text (after the last token), finish (after finish_reason) or usage (before [DONE]). If the answer has fewer
// tokens than the number WHERE, the answer ends at text. If there are several such settings, the last one takes effect:
//
//	cut=WHERE           the connection breaks
//	eof=WHERE           the stream ends cleanly, but too early
//	hang=WHERE          silence until the client leaves
//	fail=WHERE          an error event, then the end of the stream without [DONE]
//	fail_as=FORM        openai (default), vllm ({"object":"error"}), openrouter (a chunk with
//	                    error and finish_reason "error"), event ("event: error"), nested (the same
//	                    event in the Responses API, with the error in a member of its own)
//
// For an answer that is not streamed, cut and eof send a part of the JSON document, fail sends status 500, and WHERE
// can't be finish or usage.
//
// In the Responses API, the place "finish" is after the last item and before the event that ends the answer. The place
// "usage" is after the event that ends the answer. By default, the setting "fail" sends an event response.failed.
// finish=length and finish=content_filter make the answer incomplete, and finish=error makes it a failed answer. If the
// request asks for a summary of the reasoning, the server sends a summary. With think_as=reasoning or think_as=both,
// the server sends the reasoning as reasoning_text. In all other cases, the server does not send the reasoning, but
// counts its tokens. In the Responses API, the setting calls_as has no effect. In the Responses API, the setting noise
// sends events of unknown types. as=sse and as=json work as in Chat Completions.
//
// These settings change the wire format:
//
//	comment_every=N     an SSE comment after every N tokens
//	comment_interval=D  a comment after each D of silence, also during hang; without streaming, an
//	                    empty line instead
//	comment=TEXT        the text of comments instead of "keep-alive", such as "OPENROUTER PROCESSING"
//	noise=N             after every N tokens a chunk without meaning: empty choices, a null
//	                    delta, usage without choices, in turn
//	pad=N               N more bytes of obfuscation in each chunk
//	crlf                lines end with CR LF
//	nospace             "data:{" without a space
//	multiline           an event's JSON spread over several data lines
//	no_last_newline     the last event lacks its line ends
//	as=sse|json|html    events, a JSON document, or an HTML page with status 200, whatever the request
//	                    asks for
//	content_type=TYPE   another Content-Type, with the same body
//
// For a transcription, the fields Match and Regex of a Rule are compared with the name of the file. The only settings
// that affect transcriptions are delay, say, empty, the settings for errors, content_type, and cut and hang at start.
//
// # Control
//
// A test in the same process uses [Server.Rule], [Server.Requests], [Server.Stats], [Server.Wait] and [Server.Reset].
// Other programs control the server over HTTP, without a key:
//
//	POST /control/rule      adds a rule: {"match":"tides","times":1,"do":"cut=40 on=stream"}
//	GET  /control/rule      the rules, and how many requests each rule has matched
//	GET  /control/requests  the records; ?after=ID only later ones, ?marks=1 with the time of
//	                        every token
//	GET  /control/stats     the counters
//	GET  /control/answer    ?question=… the text of Answer
//	POST /control/reset     removes rules, records and counters
//
// A record states when and how a request ended, and describes the images, files or recording in the request. The server
// notices at once that a client closes its connection, also between two tokens. This command shows whether the client
// has cancelled the last request:
//
//	curl -s localhost:9000/control/requests | jq '.[-1] | .end, .ended'
//	"client_closed"
//	"2026-11-21T04:02:13.4567Z"
package openai
