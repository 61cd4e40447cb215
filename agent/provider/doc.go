// Package provider holds what the model packages share: connections to a provider with one of OpenAI's APIs, the exchange
// of a request for an answer, and the meaning of errors and refusals. It knows none of the APIs.
//
//	model.go     a model: asks in the shape that the provider takes, streamed or whole
//	client.go    options, connections, redaction of secrets
//	exchange.go  one HTTP exchange: checks the answer and classifies errors
//	errors.go    error messages of providers (pure)
//	judge.go     the kind of an error (pure)
//	shapes.go    what the provider has refused, remembered
//	request.go   what requests and calls have in common
package provider
