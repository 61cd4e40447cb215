// Package transcription turns speech into text through an OpenAI-compatible endpoint
// (https://platform.openai.com/docs/api-reference/audio/createTranscription). The form is written
// here: it is two fields, and go-openai would keep a copy of the audio for each of its layers.
package transcription
