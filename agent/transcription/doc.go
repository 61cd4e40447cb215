// Package transcription turns speech into text through an OpenAI-compatible endpoint
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). go-openai encodes the request. A second
// attempt sends the same audio again.
package transcription
