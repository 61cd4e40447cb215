// Package provider contains the code that the packages of model APIs share: connections to a provider, the exchange of a
// request for an answer, and the classification of errors and refusals. The package contains no code for a particular API.
//
//	model.go     a model: sends requests in the shape that the provider accepts
//	client.go    options, connections, redaction of secrets
//	exchange.go  one HTTP exchange: checks the answer and classifies errors
//	gather_*.go  reads fast streams a few times a second, to save CPU time
//	errors.go    error messages of providers (pure)
//	judge.go     the kind of an error (pure)
//	shapes.go    remembers what the provider has refused
//	request.go   encodings of schemas, images, files, arguments and usage
package provider
