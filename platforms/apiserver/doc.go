// Package apiserver implements an OpenAI-compatible server. Through the server, programs call telex's models with the
// Chat Completions API or the Responses API. The server is not a chat platform: it neither queues messages nor edits
// previews. Each request starts one turn of the Runner. The goroutine that runs the turn writes each event of the turn
// to the client immediately. If the client disconnects, the turn ends.
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
// The client's system and developer messages are appended to the configured agent.system_prompt and can't replace it,
// because the operator's rules also apply to programs. All system and developer messages become part of the system
// prompt, wherever the client put them in the conversation, because some providers accept only one system message.
//
// Tools of telex that change something need a person's approval. An API client is a program, and telex can't ask the
// person who uses it for approval. telex therefore refuses a tool call that needs approval, and reports the refusal to
// the model. If the operator has configured auto_approve for the tool, telex executes the call.
//
// A tool of the client replaces telex's tool of the same name, because the client knows only its own tools. If an
// answer calls the client's tools and telex's tools, the client gets only the calls of its own tools
// (agent.Turn.ClientTools explains why).
//
// telex treats the text of a user's message as typed by the asker, who is the owner of the key. telex treats the results
// of the client's tools, pictures and files as outside content.
//
// The server can't remove text that it has already sent in a stream. If an answer fails after the server has sent the
// first piece, the stream ends with an error event.
package apiserver
