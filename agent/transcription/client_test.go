package transcription_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent/transcription"
)

const secret = "sk-very-secret"

// provider is a fake transport. provider answers each request with the next of its answers, and all further requests with the
// last one.
type provider struct {
	answers  []answer
	requests []*http.Request
	forms    []map[string]string
	times    []time.Time
}

type answer struct {
	status     int
	retryAfter string
	body       string
	err        error
	hang       bool
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	a := p.answers[min(len(p.requests), len(p.answers)-1)]
	p.requests = append(p.requests, r)
	p.times = append(p.times, time.Now())
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	p.forms = append(p.forms, form)
	if a.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	header := http.Header{}
	if a.retryAfter != "" {
		header.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func readForm(r *http.Request) (map[string]string, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	form := make(map[string]string)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		form[part.FormName()] = string(data)
		if part.FileName() != "" {
			form["name"] = part.FileName()
		}
	}
}

func newClient(t *testing.T, answers ...answer) (*transcription.Client, *provider, *bytes.Buffer) {
	t.Helper()
	p := &provider{answers: answers}
	var log bytes.Buffer
	c, err := transcription.New(transcription.Options{
		BaseURL: "http://user:password@provider/v1/", APIKey: secret, Model: "whisper-1", Transport: p,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, p, &log
}

func TestTranscribe(t *testing.T) {
	t.Parallel()
	c, p, _ := newClient(t, answer{status: 200, body: `{"text":" Hello there.\n"}`})
	got, err := c.Transcribe(t.Context(), `C:\voices\a "b".oga`, []byte("OggS\x00\xff"))
	if err != nil || got != "Hello there." {
		t.Fatalf("got %q, %v", got, err)
	}
	want := map[string]string{"model": "whisper-1", "response_format": "json", "file": "OggS\x00\xff", "name": `a "b".oga`}
	if fmt.Sprint(p.forms[0]) != fmt.Sprint(want) {
		t.Errorf("sent %q, want %q", p.forms[0], want)
	}
	r := p.requests[0]
	if r.Method != http.MethodPost || r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("sent %s %s, %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	good := answer{status: 200, body: `{"text":"Hello."}`}
	quoted := `{"error":{"message":"bad key ` + secret + `"}}`
	for _, tt := range []struct {
		name     string
		answers  []answer
		text     string
		err      string
		requests int
		waited   time.Duration
	}{
		{"overloaded once", []answer{{status: 503}, good}, "Hello.", "", 2, time.Second},
		{"overloaded twice", []answer{{status: 503, body: "busy"}}, "", "transcribe: retryable: HTTP 503: busy", 2, time.Second},
		{"told to wait", []answer{{status: 429, retryAfter: "3"}, good}, "Hello.", "", 2, 3 * time.Second},
		{"told to wait long", []answer{{status: 429, retryAfter: "60"}, good}, "", "transcribe: rate_limited: HTTP 429: the provider gave no message", 1, 0},
		{"not reached", []answer{{err: errors.New("no route for " + secret)}, good}, "Hello.", "", 2, time.Second},
		{"never reached", []answer{{err: errors.New("no route for " + secret)}}, "", "transcribe: retryable: no route for [redacted]", 2, time.Second},
		{"wrong key, quoted back", []answer{{status: 401, body: quoted}}, "", "transcribe: auth: HTTP 401: bad key [redacted]", 1, 0},
		{"redirect", []answer{{status: 307, body: "there"}}, "", "transcribe: bad_request: HTTP 307: the address redirects elsewhere; check base_url", 1, 0},
		{"no JSON", []answer{{status: 200, body: "<html>"}}, "", "transcribe: bad_request: HTTP 200: the answer is not of this API (no content type); check base_url", 1, 0},
		{"no text", []answer{{status: 200, body: "{}"}}, "", "transcribe: the answer is not of this API; check base_url", 1, 0},
		{"nobody speaks", []answer{{status: 200, body: `{"text":""}`}}, "", "", 1, 0},
		{"no end", []answer{{status: 200, body: `{"text":"` + strings.Repeat("a", 5<<20)}}, "", "transcribe: bad_request: HTTP 200: the answer is longer than 4 MB", 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, p, log := newClient(t, tt.answers...)
				began := time.Now()
				got, err := c.Transcribe(t.Context(), "a.ogg", []byte("x"))
				said := ""
				if err != nil {
					said = err.Error()
				}
				if got != tt.text || said != tt.err || len(p.requests) != tt.requests || time.Since(began) != tt.waited {
					t.Errorf("got %q, %q, %d requests, %v", got, said, len(p.requests), time.Since(began))
				}
				if all := said + log.String(); strings.Contains(all, secret) || strings.Contains(all, "password") {
					t.Errorf("a secret came out: %s", all)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{"in a request": {hang: true}, "in the wait": {status: 429, retryAfter: "5"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := newClient(t, a)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				if _, err := c.Transcribe(ctx, "a.ogg", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
					t.Errorf("error %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	c, p, _ := newClient(t, answer{status: 200})
	if _, err := c.Transcribe(t.Context(), "a.ogg", make([]byte, transcription.MaxAudio+1)); !errors.Is(err, transcription.ErrTooLong) || len(p.requests) != 0 {
		t.Errorf("error %v, %d requests", err, len(p.requests))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "audio.ogg", "/": "audio.ogg", "a/b/c.mp3": "c.mp3", "a\r\nX: y.mp3": "a X y.mp3"} {
		c, p, _ := newClient(t, answer{status: 200, body: `{"text":"x"}`})
		if _, err := c.Transcribe(t.Context(), name, nil); err != nil || p.forms[0]["name"] != want {
			t.Errorf("%q was sent as %q, want %q; error %v", name, p.forms[0]["name"], want, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		o    transcription.Options
		want string
	}{
		{transcription.Options{BaseURL: "http://a\n" + secret, Model: "m", Log: log}, "invalid base URL"},
		{transcription.Options{BaseURL: "provider", Model: "m", Log: log}, "want http:// or https://"},
		{transcription.Options{BaseURL: "http://provider", Log: log}, "no model"},
		{transcription.Options{BaseURL: "http://provider", Model: "m"}, "no logger"},
	} {
		if _, err := transcription.New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	c, _, _ := newClient(t)
	if s := fmt.Sprintf("%v %+v", c, c.LogValue()); strings.Contains(s, secret) {
		t.Errorf("the key is shown: %s", s)
	}
}
