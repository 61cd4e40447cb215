package openai_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gopenai "github.com/sashabaranov/go-openai" //nolint:depguard // Another author's client checks the wire format.

	"telex/standin/openai"
)

// field is one field of a form. A field that is a file also has a file name.
type field struct{ name, file, value string }

// transcribe sends a multipart form that requests a transcription.
func (p *provider) transcribe(ctx context.Context, fields ...field) reply {
	p.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range fields {
		create := func() (io.Writer, error) { return form.CreateFormField(f.name) }
		if f.file != "" {
			create = func() (io.Writer, error) { return form.CreateFormFile(f.name, f.file) }
		}
		w, err := create()
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.value)); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		p.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/audio/transcriptions", &body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return p.do(req)
}

var (
	whisper = field{name: "model", value: "standin"}
	voice   = field{name: "file", file: "voice.ogg", value: "OggS\x00\xff\nsay: hello there\r\nmore"}
)

func TestTranscription(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	for _, tc := range []struct{ name, file, format, want string }{
		{"the default", voice.value, "", `{"text":"hello there",`},
		{"json", voice.value, "json", `{"text":"hello there",`},
		{"text", voice.value, "text", "hello there\n"},
		{"srt", voice.value, "srt", "1\n00:00:00,000 --> 00:00:01,000\nhello there\n"},
		{"vtt", voice.value, "vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nhello there\n"},
		{"verbose_json", voice.value, "verbose_json", `"text":"hello there"`},
		{"at the end", "\x00\nsay: bye", "text", "bye\n"},
		{"not a line", "x say: bye", "text", "This is a recording of 10 bytes.\n"},
		{"not ASCII", "say: bye\xff", "text", "This is a recording of 9 bytes.\n"},
	} {
		fields := []field{whisper, {name: "file", file: "voice.ogg", value: tc.file}}
		if tc.format != "" {
			fields = append(fields, field{name: "response_format", value: tc.format})
		}
		if got := p.transcribe(t.Context(), fields...); got.status != 200 || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %d, %q, want %q", tc.name, got.status, got.body, tc.want)
		}
	}
	rec := p.last()
	if rec.File == nil || rec.File.Name != "voice.ogg" || rec.File.Bytes != 9 || rec.Question != "voice.ogg" ||
		rec.Model != "standin" || rec.End != openai.EndComplete || rec.Sent != "This is a recording of 9 bytes." {
		t.Errorf("record %+v, file %+v", rec, rec.File)
	}
}

func TestTranscriptionByClientLibrary(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Key: "sk-test", Models: []string{"whisper-1"}})
	req := gopenai.AudioRequest{Model: "whisper-1", FilePath: "note.mp3", Reader: strings.NewReader("say: one two"), Language: "en"}
	got, err := p.sdk("sk-test").CreateTranscription(t.Context(), req)
	if err != nil || got.Text != "one two" {
		t.Errorf("%q, %v", got.Text, err)
	}
	_, err = p.sdk("sk-nope").CreateTranscription(t.Context(), req)
	if e, ok := errors.AsType[*gopenai.APIError](err); !ok || e.HTTPStatusCode != 401 {
		t.Errorf("a wrong key: %v, want 401", err)
	}
}

func TestTranscriptionRefused(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{Models: []string{"standin", "gpt-4o-mini-transcribe"}})
	with := func(f ...field) []field { return append([]field{whisper, voice}, f...) }
	for _, tc := range []struct {
		name        string
		fields      []field
		status      int
		param, code string
		message     string
	}{
		{"no file", []field{whisper}, 400, "file", "missing_required_parameter", ""},
		{"a file without a name", []field{whisper, {name: "file", value: "x"}}, 400, "file", "invalid_type", ""},
		{"two files", with(voice), 400, "file", "invalid_value", "Duplicate"},
		{"no model", []field{voice}, 400, "model", "missing_required_parameter", ""},
		{"another model", []field{voice, {name: "model", value: "nope"}}, 404, "", "model_not_found", "`nope`"},
		{"two models", with(whisper), 400, "model", "invalid_value", "Duplicate"},
		{"another field", with(field{name: "speed", value: "2"}), 400, "speed", "unknown_parameter", ""},
		{"a format", []field{whisper, {name: "file", file: "v.oga", value: "x"}}, 400, "file", "unsupported_value", "['flac', 'm4a', 'mp3'"},
		{"no extension", []field{whisper, {name: "file", file: "voice", value: "x"}}, 400, "file", "unsupported_value", ""},
		{"an empty file", []field{whisper, {name: "file", file: "v.wav"}}, 400, "file", "audio_too_short", "Minimum audio length"},
		{"an answer's format", with(field{name: "response_format", value: "xml"}), 400, "response_format", "invalid_value", "'xml'"},
		{"temperature", with(field{name: "temperature", value: "1.5"}), 400, "temperature", "invalid_value", ""},
		{"stream", with(field{name: "stream", value: "true"}), 400, "stream", "unsupported_value", ""},
		{
			"text of a newer model",
			[]field{voice, {name: "model", value: "gpt-4o-mini-transcribe"}, {name: "response_format", value: "text"}},
			400,
			"response_format", "unsupported_value", "not compatible",
		},
		{"more than 25 MB", []field{whisper, {name: "file", file: "v.wav", value: strings.Repeat("x", 25<<20)}}, 413, "", "", "(26214400) exceeded"},
	} {
		got := p.transcribe(t.Context(), tc.fields...)
		if got.err != nil {
			t.Errorf("%s: %v", tc.name, got.err)
			continue
		}
		message, _, param, code := apiError(t, got.body)
		if got.status != tc.status || param != tc.param || code != tc.code || !strings.Contains(message, tc.message) {
			t.Errorf("%s: %d, param %q, code %q, %q, want %d, param %q, code %q, %q",
				tc.name, got.status, param, code, message, tc.status, tc.param, tc.code, tc.message)
		}
	}
	if got := p.post("/v1/audio/transcriptions", `{}`); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d, want 415", got.status)
	}
	if got := p.get(t.Context(), "/v1/audio/transcriptions"); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d, want 405", got.status)
	}
}

func TestTranscriptionFaults(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	p.rule(openai.Rule{Match: "voice", Do: "on=chat status=500"}) // the rule does not apply to recordings
	p.rule(openai.Rule{Match: "voice", Times: 1, Do: "status=429 retry_after=3"})
	p.rule(openai.Rule{Match: "voice", Times: 1, Do: "cut=start"})
	p.rule(openai.Rule{Do: "on=audio say=replaced"})
	if got := p.transcribe(t.Context(), whisper, voice); got.status != 429 || got.header.Get("Retry-After") != "3" {
		t.Errorf("first: %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	if got := p.transcribe(t.Context(), whisper, voice); got.err == nil {
		t.Errorf("second: %d, want a cut connection", got.status)
	}
	if got := p.transcribe(t.Context(), whisper, voice); got.status != 200 || !strings.Contains(got.body, "replaced") || p.last().Rule != 4 {
		t.Errorf("third: %d, %s, rule %d", got.status, got.body, p.last().Rule)
	}
	if got := p.ask("say: voice of reason"); got.status != 500 {
		t.Errorf("a question: %d, want 500 by the rule for chats", got.status)
	}
}

func TestTranscriptionInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		p.rule(openai.Rule{Match: "slow", Do: "delay=2s"})
		p.rule(openai.Rule{Match: "never", Do: "hang=start"})
		began := time.Now()
		if got := p.transcribe(t.Context(), whisper, field{name: "file", file: "slow.wav", value: "x"}); got.status != 200 || time.Since(began) != 2*time.Second {
			t.Errorf("slow: %d after %v, want 200 after 2s", got.status, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got := p.transcribe(ctx, whisper, field{name: "file", file: "never.wav", value: "x"}); !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("never: %d, %v", got.status, got.err)
		}
		if rec := p.last(); rec.End != openai.EndClientClosed {
			t.Errorf("ended with %q, want %q", rec.End, openai.EndClientClosed)
		}
	})
}

func FuzzTranscription(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nstandin\r\n--b\r\n"+
		"Content-Disposition: form-data; name=\"file\"; filename=\"v.ogg\"\r\n\r\nsay: x\r\n--b--\r\n")
	f.Add("multipart/form-data; boundary=b", "--b")
	f.Add("multipart/form-data", "")
	s := openai.New(openai.Options{Rate: -1})
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, contentType, body string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/v1/audio/transcriptions", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		s.ServeHTTP(w, r)
		if w.Code != 200 && (w.Code < 400 || w.Code > 499) {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	})
}
