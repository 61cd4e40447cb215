// Package provider is what the model packages share: how a provider that speaks one of OpenAI's
// APIs is reached, and what its errors and refusals mean. It knows none of the APIs.
//
//	client.go    who is asked: options, connections, secrets kept out of errors
//	exchange.go  one HTTP exchange: the answer checked, made uniform, errors classified
//	errors.go    what went wrong and what can be done (pure)
//	shapes.go    what the provider has refused, remembered
//	request.go   what requests and calls have in common
package provider
