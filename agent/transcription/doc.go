// Package transcription turns speech into text through an OpenAI-compatible API
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). The package go-openai encodes the request. If
// the first attempt fails, the package may send the same audio once more.
package transcription
