// Package chatcompletions speaks the OpenAI Chat Completions API, and the many servers that
// speak it in their own way, as an agent.Model.
//
//	request.go   what is asked, shaped by what the provider has refused before
//	consumer.go  chunks in, deltas and a completion out (pure)
//	repeated.go  chunks that differ in their text alone (pure)
//	echo.go      what a provider sends with calls and wants back with them (pure)
//	messages.go  a conversation as this API wants it (pure)
//
// go-openai builds and sends the requests. What it does not cover is done around it in the HTTP
// client, see agent/provider; answers are read by ourselves, since its types lack one name of
// reasoning.
package chatcompletions
