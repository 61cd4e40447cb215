// Package transcription turns speech into text through an OpenAI-compatible endpoint
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). The form is written
// here: it has three fields, and a second attempt sends the same bytes.
package transcription
