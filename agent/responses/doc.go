// Package responses speaks the OpenAI Responses API, and the servers that speak it too, as an
// agent.Model.
//
//	model.go    the model
//	request.go  what is asked, shaped by what the provider has refused before
//	input.go    messages as input items (pure)
//	echo.go     reasoning that goes back to the provider (pure)
//	consumer.go events in, deltas and a completion out (pure)
//	event.go    what is read of an event and of an answer (pure)
//	item.go     the items of an answer, found again by ids and places that may be wrong (pure)
//
// go-openai builds and sends the requests; agent/provider and agent/sse do around it what it does
// not cover. Answers are read by ourselves: its types lack the encrypted reasoning, and they are
// strict about events that we have no use for.
//
// # Nothing is kept at the provider
//
// Every request holds the whole conversation and says store: false; the state is ours, and survives
// a change of the model or the provider. What the model thought between its tool calls would be
// lost that way, which costs it quality and the cache, so that the reasoning comes encrypted and
// goes back with the calls it led to
// (https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items). It travels in
// agent.ToolCall.Extra; within one turn only, as the API makes no use of older reasoning.
package responses
