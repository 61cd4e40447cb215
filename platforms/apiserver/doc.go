// Package apiserver is the OpenAI-compatible server. Other programs use telex's models through it, by Chat Completions or
// Responses. It is not a platform: it has no inbox and no previews. A request is one turn of its Runner. The goroutine of
// the turn writes its events to the client at once. If the client disconnects, the turn ends.
//
//	server.go          listening, stopping, routes, models
//	access.go          keys, their limits, web pages
//	exchange.go        one request for an answer, from its body to its end
//	query.go           what both APIs have in common: parts of messages, tools, parameters
//	document.go        files in messages, as text
//	chat.go            Chat Completions: requests and documents
//	chatstream.go      Chat Completions: chunks
//	responses.go       Responses: requests
//	response.go        Responses: documents
//	responsestream.go  Responses: events
//	answer.go          a model's answer, and the interfaces of the APIs
//	reply.go           documents and events on their way to the client
//	session.go         earlier messages: sessions and stored responses
//	stored.go          GET and DELETE of stored responses
//	idempotency.go     repeated requests
//	errors.go          errors
//
// # Decisions
//
// The client's system and developer messages follow agent.system_prompt and can't replace it, because the operator's
// rules also apply to programs. All these messages become part of the system prompt, no matter where in the
// conversation the client put them, since some providers accept only one system message.
//
// Tools of telex that change something need a person's approval. The owner of a key is a program, and telex does not
// know the person behind it, so nobody can approve. Such a call is refused, and the model is told so, unless the
// operator configured auto_approve.
//
// A tool of the client replaces telex's tool of the same name, because the client knows only its own tools. If an
// answer calls tools of both kinds, only the client's calls are passed on (agent.Turn.ClientTools says why).
//
// Text that a client sends as a user's message counts as typed by the asker, who is the owner of the key. Results of the
// client's tools, pictures and files are outside content.
//
// Text in a stream can't be removed after it was sent. If an answer fails after its first piece was sent, the stream
// ends with an error event.
package apiserver
