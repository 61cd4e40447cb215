package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"

	"telex/internal/chat"
)

// maxAnswer bounds what is read of one answer. The largest real one, 100 messages of the longest text
// with embeds, stays below.
const maxAnswer = 16 << 20 // bytes

// homepage stands for the address of the project, which has none yet; .invalid is a domain that nobody can own.
const homepage = "https://telex.invalid"

// userAgent is what the platform asks clients to call themselves, with an address and a version. Others may be turned away.
// https://docs.discord.com/developers/reference#user-agent
func userAgent(version string) string {
	number := strings.TrimPrefix(version, "v")
	if !versionNumber.MatchString(number) {
		number = "0"
	}
	return "DiscordBot (" + homepage + ", " + number + ")"
}

// versionNumber is a version that says nothing but numbers, and what a release candidate adds.
var versionNumber = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`)

// request is one call of the API.
type request struct {
	name string // in errors, since the path may hold a token
	verb string
	path string // below the version, with its query
	body any    // as JSON; nil: none
	file *chat.File
	op   chat.Op // what it counts as
	// token is that of the interaction in the path, which no error may show; such calls prove by it who they
	// are, and count apart from all others.
	token string
}

// answer is a success.
type answer struct {
	header http.Header
	body   []byte
}

// id returns the id of what the answer shows: a decoder of the whole would fail with the first field
// that is not known yet.
func (a *answer) id() string {
	var v struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(a.body, &v); err != nil || !isSnowflake(v.ID) {
		return ""
	}
	return v.ID
}

// call makes one call. A failure is a *chat.SendError. It blocks until the answer is there or ctx ends.
func (b *Bot) call(ctx context.Context, r request) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", r.name, err)}
	}
	req, err := b.request(ctx, r)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: %w", r.name, err)}
	}
	x := &exchange{}
	body, err := x.do(b.client, req)
	if err == nil && x.status >= 200 && x.status <= 299 {
		return &answer{header: x.header, body: body}, nil
	}
	if err != nil {
		return nil, b.unanswered(r, x, err)
	}
	return nil, b.refused(r, x, body)
}

// request encodes a call.
func (b *Bot) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	var content []byte
	if r.body != nil {
		var err error
		if content, err = json.Marshal(r.body); err != nil {
			return nil, errors.New("the body is no JSON")
		}
		body = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, b.api+r.path, body)
	if err != nil {
		return nil, errors.New("the address is none")
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.file != nil {
		f, err := newForm(content, *r.file)
		if err != nil {
			return nil, err
		}
		f.fill(req)
	}
	if r.token == "" {
		req.Header.Set("Authorization", "Bot "+b.token)
	}
	req.Header.Set("User-Agent", b.agent)
	return req, nil
}

// exchange is what is known of exactly one call.
type exchange struct {
	status int // 0: no answer
	header http.Header
	unsent bool // the request surely never left
}

// do sends the request and reads the whole answer.
func (x *exchange) do(client *http.Client, req *http.Request) ([]byte, error) {
	// The transport tries a second connection only when nothing was written to the first, so the last
	// event of each kind tells.
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { x.unsent = true },
		GotConn: func(httptrace.GotConnInfo) { x.unsent = false },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			x.unsent = true // for transports that do not trace
		}
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	x.unsent = false
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the answer is larger than 16 MiB")
	}
	x.status, x.header = resp.StatusCode, resp.Header
	return body, nil
}

// callError is the cause inside every SendError of a call: text without secrets, and the error below
// where its own text is free of them too.
type callError struct {
	text   string
	cause  error
	status int // HTTP; 0: no answer
	code   int // the platform's own; 0: none
}

// Error returns the call and what went wrong.
func (e *callError) Error() string { return e.text }

// Unwrap returns the cause, for errors.Is on the context's errors.
func (e *callError) Unwrap() error { return e.cause }

// codeOf returns the platform's code of the answer that err is about, 0 without one.
func codeOf(err error) int {
	if e, ok := errors.AsType[*callError](err); ok {
		return e.code
	}
	return 0
}

// statusOf returns the HTTP status of the answer that err is about, 0 without one.
func statusOf(err error) int {
	if e, ok := errors.AsType[*callError](err); ok {
		return e.status
	}
	return 0
}

// unanswered returns the failure of a call that got no whole answer.
func (b *Bot) unanswered(r request, x *exchange, err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // without the address, which may hold a token
	}
	failure := &chat.SendError{Kind: chat.Uncertain}
	if x.unsent {
		failure.Kind = chat.Temporary
	}
	text := b.redact(err.Error(), r.token)
	if text != err.Error() {
		failure.Err = &callError{text: r.name + ": " + text}
		return failure
	}
	failure.Err = &callError{text: r.name + ": " + text, cause: err}
	return failure
}

// redact removes the bot's token, and that of an interaction, from a text.
func (b *Bot) redact(text, token string) string {
	text = strings.ReplaceAll(text, b.token, "<token>")
	if token != "" {
		text = strings.ReplaceAll(text, token, "<token>")
	}
	return text
}
