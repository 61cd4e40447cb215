// Package apiserver is the OpenAI-compatible server: other programs ask telex's models through it, by Chat Completions or Responses.
// It is no platform: it has neither an inbox nor previews. A request is one turn of its Runner, whose events are written to the
// client at once by the goroutine that runs the turn; the client's connection is what ends it early.
//
//	server.go          listening, stopping, routes, models
//	access.go          keys, their limits, web pages
//	exchange.go        one request for an answer, from its body to its end
//	query.go           what both APIs have in common: parts of messages, tools, parameters
//	document.go        files in messages, as text
//	chat.go            Chat Completions: requests, documents, chunks
//	responses.go       Responses: requests and documents
//	responsestream.go  Responses: events
//	answer.go          what a model says, and the interfaces of the APIs
//	reply.go           documents and events on their way to the client
//	session.go         what was said before: sessions and stored responses
//	stored.go          GET and DELETE of stored responses
//	repeats.go         requests that come twice
//	errors.go          errors
//
// # Decisions
//
// The client's system and developer messages stand behind agent.system_prompt and can't replace it: the operator's rules hold for
// programs too. Wherever they stand in a conversation, they go to the system prompt, since some providers take only one system
// message.
//
// Tools of telex that change something need a person's approval. No person is there to give it: whoever holds the key is a program,
// and the person behind it is not known to telex. So these calls are refused, with a line to the model, unless the operator
// configured auto_approve.
//
// A tool of the client replaces telex's tool of the same name: the client knows its own tools and can't know telex's.
//
// In one answer that calls both kinds of tools, only the client's calls count (agent.Turn.ClientTools says why).
//
// Text that a client sends as a user's counts as typed by the asker, who is the key. Results of the client's tools, pictures and
// files are outside content.
//
// A stream is sent as it comes and takes nothing back. An answer that breaks off after its first piece ends with an error event.
package apiserver
