package openai

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// maxAudio is the maximum size of a request for a transcription in bytes.
// https://platform.openai.com/docs/guides/speech-to-text
const maxAudio = 25 << 20

// recording is a request for a transcription.
// https://platform.openai.com/docs/api-reference/audio/createTranscription
type recording struct {
	file   *File
	data   []byte
	fields map[string]string // the other fields, by name
}

// serveTranscription answers and records a request for a transcription.
func (s *Server) serveTranscription(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, maxAudio, func(x *exchange, body []byte) error { return x.transcribe(r.Header.Get("Content-Type"), body) })
}

// transcribe checks the request and answers it.
func (x *exchange) transcribe(contentType string, body []byte) error {
	rec, rule := recording{fields: map[string]string{}}, 0
	err := checked(func() { rec.parse(contentType, body) })
	if rec.file != nil { // record the file even if another part of the request is invalid
		x.note(func(r *Request) { r.Model, r.Question, r.File = rec.fields["model"], rec.file.Name, rec.file })
	}
	if err == nil {
		err = checked(func() {
			rec.check(x.s.opts.Models)
			x.b, rule = x.s.behave(ask{model: rec.fields["model"], question: rec.file.Name, kind: "audio"}, nil)
		})
	}
	if err != nil {
		return err
	}
	text := rec.heard()
	if x.b.say != nil {
		text = *x.b.say
	}
	x.note(func(r *Request) { r.Rule, r.Planned = rule, text })
	return x.write(func() {
		contentType, answer := rec.answer(text)
		x.begin(http.StatusOK, contentType)
		x.wire.raw(answer)
		now := time.Now()
		x.note(func(r *Request) {
			r.FirstToken, r.LastToken, r.Tokens = now, now, len(Tokens(text))
			r.Marks = []Mark{{Time: now, Bytes: len(text)}}
		})
	})
}

// parse reads the multipart form of the request.
func (rec *recording) parse(contentType string, body []byte) {
	kind, params, err := mime.ParseMediaType(contentType)
	rig.RefuseIf(err != nil || kind != "multipart/form-data" || params["boundary"] == "", newError(http.StatusUnsupportedMediaType,
		"invalid_request_error", "", "unsupported_content_type",
		fmt.Sprintf("Unsupported content type: '%s'. This API method only accepts 'multipart/form-data' requests.", contentType)))
	err = rig.ReadMultipart(bytes.NewReader(body), params["boundary"], rec.take)
	invalidIf(err != nil, "", "", "Could not parse multipart form")
}

// take adds one field of the form.
func (rec *recording) take(name string, part rig.Upload) {
	_, twice := rec.fields[name]
	invalidIf(twice || name == "file" && rec.file != nil, name, "invalid_value", "Duplicate value for '%s'.", name)
	switch name {
	case "file":
		invalidIf(part.Name == "", name, "invalid_type", "Invalid type for 'file': expected a file, but got a string instead.")
		rec.file = &File{Name: part.Name, Type: part.Type, Bytes: len(part.Data)}
		rec.data = part.Data
	case "model", "language", "prompt", "response_format", "temperature", "stream", "chunking_strategy":
		rec.fields[name] = string(part.Data)
	case "include[]", "timestamp_granularities[]", "known_speaker_names[]", "known_speaker_references[]":
	default:
		panic(invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name))
	}
}

// check refuses an invalid request. If the request has several errors, check reports the same one as OpenAI.
func (rec *recording) check(models []string) {
	model := rec.fields["model"]
	required(rec.file != nil, "", "file")
	invalidIf(model == "", "model", "missing_required_parameter", "you must provide a model parameter")
	rig.RefuseIf(!slices.Contains(models, model) && !slices.Contains(models, "*"), unknownModel(model))
	formats := []string{"flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "ogg", "wav", "webm"}
	invalidIf(!slices.Contains(formats, strings.ToLower(strings.TrimPrefix(path.Ext(rec.file.Name), "."))), "file", "unsupported_value",
		"Unrecognized file format. Supported formats: ['%s']", strings.Join(formats, "', '"))
	invalidIf(rec.file.Bytes == 0, "file", "audio_too_short", "Audio file is too short. Minimum audio length is 0.1 seconds.")
	rec.checkFields(model)
}

// checkFields refuses the request if an optional field is invalid.
func (rec *recording) checkFields(model string) {
	format, given := rec.fields["response_format"]
	invalidIf(given && !slices.Contains([]string{"json", "text", "srt", "verbose_json", "vtt"}, format), "response_format", "invalid_value",
		"Invalid value: '%s'. Supported values are: 'json', 'text', 'srt', 'verbose_json', and 'vtt'.", format)
	invalidIf(given && format != "json" && strings.HasPrefix(model, "gpt-4o"), "response_format", "unsupported_value",
		"response_format '%s' is not compatible with model '%s'. Use 'json' instead.", format, model)
	text, given := rec.fields["temperature"]
	t, err := strconv.ParseFloat(text, 64)
	invalidIf(given && (err != nil || !(t >= 0 && t <= 1)), "temperature", "invalid_value",
		"Invalid 'temperature': expected a number from 0 to 1, but got '%s' instead.", text)
	// The model whisper-1 ignores the parameter stream. For other models, the stand-in does not support streamed
	// transcriptions.
	invalidIf(rec.fields["stream"] == "true" && model != "whisper-1", "stream", "unsupported_value",
		"Unsupported value: 'stream' is not supported with this model.")
}

// heard returns the transcription of a recording: the text after "say:" in an ASCII line of the recording, or a
// sentence with the recording's size.
func (rec *recording) heard() string {
	for line := range bytes.Lines(rec.data) {
		text, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("say: "))
		if ok && !bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return string(text)
		}
	}
	return fmt.Sprintf("This is a recording of %d bytes.", len(rec.data))
}

// answer returns the transcription in the requested format. answer states that the recording is one second long.
func (rec *recording) answer(text string) (contentType string, body []byte) {
	const plain = "text/plain; charset=utf-8"
	usage := map[string]any{"type": "duration", "seconds": 1}
	switch rec.fields["response_format"] {
	case "text":
		return plain, []byte(text + "\n")
	case "srt":
		return plain, []byte("1\n00:00:00,000 --> 00:00:01,000\n" + text + "\n\n\n")
	case "vtt":
		return plain, []byte("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n" + text + "\n\n")
	case "verbose_json":
		return "application/json", mustJSON(map[string]any{
			"task": "transcribe", "language": "english", "duration": 1.0, "text": text, "usage": usage,
			"segments": []any{map[string]any{"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": " " + text}},
		})
	default:
		return "application/json", mustJSON(map[string]any{"text": text, "usage": usage})
	}
}
