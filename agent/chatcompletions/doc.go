// Package chatcompletions implements agent.Model for the OpenAI Chat Completions API, and for the many compatible servers,
// which deviate from it in different ways.
//
//	request.go   requests without the parts that the provider refuses
//	consumer.go  turns chunks into deltas and a completion (pure)
//	repeated.go  a fast path for chunks that differ only in their text (pure)
//	echo.go      provider data that must be sent back with calls (pure)
//	messages.go  a conversation in the form of this API (pure)
//
// The library go-openai builds and sends the requests; agent/provider adds what go-openai lacks. This package parses the
// answers itself, because go-openai's types lack one of the names of the reasoning field.
package chatcompletions
