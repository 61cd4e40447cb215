// Package responses implements agent.Model for the OpenAI Responses API and compatible servers.
//
//	model.go    the model
//	request.go  requests without the parts that the provider refuses
//	input.go    messages as input items (pure)
//	echo.go     reasoning that is sent back to the provider (pure)
//	consumer.go turns events into deltas and a completion (pure)
//	event.go    the used fields of events and answers (pure)
//	item.go     the items of an answer, found by ids and places that may be wrong (pure)
//
// The library go-openai builds and sends the requests; agent/provider and agent/sse add what go-openai lacks. This package
// parses the answers itself, because go-openai's types lack the encrypted reasoning, and can't decode some events that telex
// does not need.
//
// # Nothing is stored at the provider
//
// Every request contains the whole conversation and the field store: false. So only telex stores the conversation, and the
// conversation can continue with another model or provider. But if the provider stores nothing, the model loses its reasoning
// between tool calls, which costs quality and cache hits. Therefore telex requests the reasoning in encrypted form, and sends
// it back with the calls that followed it (https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items). The
// reasoning is stored in agent.ToolCall.Extra. telex sends reasoning back within one turn only, because the API ignores older
// reasoning.
package responses
