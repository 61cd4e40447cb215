package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"telex/agent"
	"telex/agent/sse"
)

// APIError is an error message of a provider. An APIError has the fields of all known forms of error messages.
type APIError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Param   string          `json:"param"`
	Code    json.RawMessage `json:"code"` // a string, a number, or null
	// Each of the following fields is sent by one provider only. Other providers may use the same names for data of any form.
	Window   json.RawMessage `json:"n_ctx"`    // llama.cpp: how many tokens fit the window
	Metadata json.RawMessage `json:"metadata"` // OpenRouter: why moderation stopped a request
	status   int             // HTTP status inside the error; 0: none
}

func (e *APIError) Error() string {
	parts := []string{e.Message}
	if e.Message == "" {
		parts[0] = "the provider gave no message"
	}
	for _, p := range []struct{ name, value string }{{"type", e.Type}, {"code", e.code()}, {"param", e.Param}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

func (e *APIError) code() string {
	code := strings.Trim(string(e.Code), `"`)
	if code == "null" {
		return ""
	}
	return code
}

// named reports whether the error's code or type is one of the given words.
func (e *APIError) named(words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(e.code(), w) || strings.EqualFold(e.Type, w) {
			return true
		}
	}
	return false
}

// errorIn returns the error in the body of an answer or in an event of a stream, or nil if neither contains an error.
// errorIn recognizes these forms:
//
//	{"error":{"message":…,"type":…,"param":…,"code":…}}  OpenAI and most
//	{"error":"…"}                                        Ollama
//	{"object":"error","message":…,"type":…,"code":…}     vLLM
//	{"choices":[{"finish_reason":"error"}]}              OpenRouter
//	{"type":"error","message":…,"param":…,"code":…}      OpenAI's event of the Responses API
//	{"detail":…}                                         FastAPI, with an HTTP status only
//	[{"error":{…}}]                                      Gemini
func errorIn(data []byte) *APIError {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil // this saves the decoding of nearly every event
	}
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var body struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Type    string          `json:"type"`
		Choices []struct {
			FinishReason string          `json:"finish_reason"`
			Error        json.RawMessage `json:"error"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &body) != nil {
		return nil // invalid JSON is reported elsewhere
	}
	if e := ErrorOf(body.Error); e != nil {
		return e
	}
	if body.Object == "error" || body.Type == "error" {
		return ErrorOf(data)
	}
	for _, c := range body.Choices {
		if e := ErrorOf(c.Error); e != nil {
			return e
		}
		if c.FinishReason == "error" {
			return &APIError{Message: "the provider ended the answer with finish_reason error"}
		}
	}
	return nil
}

// ErrorOf parses the field error of a response or an event. ErrorOf returns nil if the field reports no error.
func ErrorOf(data json.RawMessage) *APIError {
	var text string
	switch {
	case len(data) == 0 || string(data) == "null" || string(data) == "false" || string(data) == "{}":
		return nil
	case json.Unmarshal(data, &text) == nil:
		if text == "" {
			return nil
		}
		return &APIError{Message: text}
	}
	e := &APIError{}
	if json.Unmarshal(data, e) != nil {
		return &APIError{Message: excerpt(data)}
	}
	if n, err := strconv.Atoi(e.code()); err == nil && n >= 400 && n < 600 {
		e.status = n // vLLM and OpenRouter send the HTTP status as the code
	}
	if e.Type == "error" { // the type of the event, not of the error
		e.Type = ""
	}
	return e
}

// excerpt returns the beginning of an unreadable body, on one line.
func excerpt(body []byte) string {
	const most = 300
	return agent.Clip(agent.OneLine(string(body[:min(len(body), 2*most)])), most)
}

// retryAfter returns the wait that the provider asks for: the header retry-after-ms, or else Retry-After in seconds or as a
// date. retryAfter returns 0 if neither header contains a valid wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

func seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	if !(s > 0) { // also true for NaN
		return 0
	}
	return time.Duration(min(s, year) * float64(time.Second))
}

// redactor removes the API key and the values of headers from texts of servers, because some servers quote them in errors.
type redactor struct{ secrets []string }

func (r redactor) text(s string) string {
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	return s
}

// redactedError shows an error without the API key and the values of headers. redactedError wraps the original error so that
// errors.Is finds context errors. The wrapped error must never be printed.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// transportError returns the error for a request that got no complete answer. transportError leaves out the URL, which may
// contain a password.
func (r redactor) transportError(kind agent.ErrorKind, err error) *agent.ModelError {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &agent.ModelError{Kind: kind, Err: &redactedError{text: r.text(err.Error()), err: err}}
}

// statusError returns the error for an answer with an error status.
func (r redactor) statusError(status int, wait time.Duration, e *APIError) *agent.ModelError {
	clean := *e
	clean.Message, clean.Type, clean.Param = r.text(e.Message), r.text(e.Type), r.text(e.Param)
	clean.Code = json.RawMessage(r.text(string(e.Code)))
	me := &agent.ModelError{Kind: kindOf(status, &clean), RetryAfter: wait, Status: status, Err: &clean}
	if me.Kind == agent.ContextLength || me.Kind == agent.TooLarge {
		me.Limit = limitIn(&clean)
	}
	return me
}

// frameError returns the error that an event of a stream reports, or nil. The HTTP status of a stream that reports an error
// in an event was 200.
func (r redactor) frameError(f sse.Frame) error {
	e := errorIn(f.Data)
	if e == nil {
		if f.Event != "error" {
			return nil
		}
		if e = ErrorOf(f.Data); e == nil {
			e = &APIError{Message: fmt.Sprintf("error event: %s", excerpt(f.Data))}
		}
	}
	return r.streamError(e)
}

// streamError returns the error for a failure that the provider reported after it had accepted the request.
func (r redactor) streamError(e *APIError) *agent.ModelError {
	me := r.statusError(e.status, 0, e)
	if me.Kind == agent.BadRequest && e.status == 0 {
		me.Kind = agent.Broken // the provider accepted the request and then failed
	}
	return me
}

// Named reports whether err is an error message of a provider with one of these words as its code or type.
func Named(err error, words ...string) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.named(words...)
}
