// Package transcription turns speech into text through an OpenAI-compatible endpoint
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). The package go-openai encodes the request. If
// the first attempt fails, a second one sends the same audio again.
package transcription
