// Package transcription turns speech into text through an OpenAI-compatible endpoint
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). It encodes the form itself, so that a
// second attempt can send the same bytes.
package transcription
