package provider

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"telex/agent"
	"telex/agent/sse"
)

// readEvents reads all events of a stream.
func readEvents(r io.Reader) ([]string, error) {
	in := sse.New(r, redactor{}.frameError)
	var list []string
	for {
		data, err := in.Next()
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []string
		err      string
	}{
		{"terminated", "data: {\"a\":\ndata: 1}\n\n: c\n\ndata: [DONE]\n\ndata: after\n\n", []string{"{\"a\":\n1}"}, "EOF"},
		{"not terminated", "data: {}\n\n", []string{"{}"}, "unexpected EOF"},
		{"nothing", "", nil, "unexpected EOF"},
		{"empty data", "data:\n\ndata: {}\n\ndata: [DONE]", []string{"{}"}, "EOF"},
		{"error object", `data: {"error":{"message":"boom","code":502}}` + "\n\n", nil, "retryable: HTTP 502: boom, code 502"},
		{"error text", `data: {"error":"boom"}` + "\n\n", nil, "broken: boom"},
		{"vLLM", `data: {"object":"error","message":"boom","type":"BadRequestError","code":400}` + "\n\n", nil, "bad_request: HTTP 400: boom, type BadRequestError, code 400"},
		{"after a comment", ": c\n" + `data: {"error":{"message":"boom"}}` + "\n\n", nil, "broken: boom"},
		{"error event", "event: error\n" + `data: {"message":"boom"}` + "\n\n", nil, "broken: boom"},
		{"error event of no JSON", "event: error\ndata: boom  boom\n\n", nil, "broken: boom boom"},
		{"empty error event", "event: error\ndata: {}\n\n", nil, "broken: error event: {}"},
		{"finish reason", `data: {"choices":[{"finish_reason":"error"}]}` + "\n\n", nil, "broken: the provider ended the answer with finish_reason error"},
		{"error in a choice", `data: {"choices":[{"error":{"message":"boom","code":429}}]}` + "\n\n", nil, "rate_limited: HTTP 429: boom, code 429"},
		{"of the Responses API", `data: {"type":"error","code":"server_error","message":"boom","param":null}` + "\n\n", nil, "broken: boom, code server_error"},
		{"of the Responses API, by name", "event: error\n" + `data: {"type":"error","code":"server_is_overloaded","message":"boom"}` + "\n\n", nil, "retryable: boom, code server_is_overloaded"},
		{"of the Responses API, nested", "event: error\n" + `data: {"type":"error","error":{"type":"too_many","code":"rate_limit_exceeded","message":"boom"}}` + "\n\n", nil, "rate_limited: boom, type too_many, code rate_limit_exceeded"},
		{"null error", `data: {"error":null}` + "\n\ndata: [DONE]\n\n", []string{"{\"error\":null}"}, "EOF"},
		{"error in the text", `data: {"choices":[{"delta":{"content":"\"error\": {"}}]}` + "\n\ndata: [DONE]\n\n", []string{`{"choices":[{"delta":{"content":"\"error\": {"}}]}`}, "EOF"},
		{"broken JSON with error", "data: {\"error\"\n\ndata: [DONE]\n\n", []string{"{\"error\""}, "EOF"},
	} {
		got, err := readEvents(strings.NewReader(tt.in))
		if !slices.Equal(got, tt.want) || errorText(err) != tt.err {
			t.Errorf("%s: got %q, %v\nwant %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
	broke := errors.New("reset")
	_, err := readEvents(iotest.ErrReader(broke))
	if !errors.Is(err, broke) {
		t.Errorf("got %v, want %v", err, broke)
	}
	if _, ok := errors.AsType[*agent.ModelError](err); ok {
		t.Errorf("%v is judged before it is known what came", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
