package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"telex/agent"
)

// HomeOptions configure the Home Assistant installation that ha_states and ha_call_service use.
type HomeOptions struct {
	URL   string            // such as http://homeassistant.local:8123
	Token string            // long-lived access token
	HTTP  http.RoundTripper // nil: http.DefaultTransport
}

const (
	homeTime = 30 * time.Second // time limit for a call of the API
	// maxHomeAnswer is the maximum size of a response in bytes. Lists of states are longer, so they are read item by item, up
	// to maxHomeList bytes.
	maxHomeAnswer = 1 << 20
	maxHomeList   = 32 << 20
	maxHomeText   = 16 << 10 // bytes of text for the model
)

// Valid names of domains, services and entities. The names become parts of URL paths, so other characters are refused.
// https://www.home-assistant.io/docs/configuration/state_object/
var (
	homeName   = regexp.MustCompile(`^[a-z0-9_]{1,255}$`)
	homeEntity = regexp.MustCompile(`^[a-z0-9_]{1,64}\.[a-z0-9_]{1,255}$`)
)

// home calls the APIs of Home Assistant. https://developers.home-assistant.io/docs/api/rest
type home struct {
	base   string // with "/api/"
	token  string
	client *http.Client
}

func newHome(o HomeOptions) (*home, error) {
	if o.URL == "" || o.Token == "" {
		return nil, errors.New("no Home Assistant is configured")
	}
	return &home{
		base: strings.TrimRight(o.URL, "/") + "/api/", token: o.Token,
		client: &http.Client{Transport: o.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the redirect could send the token to another host
		}},
	}, nil
}

// homeError is an error response of Home Assistant.
type homeError struct {
	status int
	text   string // Home Assistant's message; may be empty
}

// Error describes the failure for the model.
func (e *homeError) Error() string {
	says := ""
	switch e.status {
	case http.StatusUnauthorized:
		says = "Home Assistant refused the access token, or its user may not do this; only the operator can mend that"
	case http.StatusForbidden:
		says = "Home Assistant refused the connection; only the operator can mend that"
	case http.StatusNotFound:
		says = "Home Assistant has no such thing"
	default:
		says = fmt.Sprintf("Home Assistant answered with HTTP status %d", e.status)
	}
	if e.text != "" {
		says += ": " + e.text
	}
	return says
}

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	if e, ok := errors.AsType[*homeError](err); ok {
		return e.status
	}
	return 0
}

// call sends a request to the REST API. call passes the body of a successful response to read. The model reads the errors of
// call, so the errors contain no secrets.
func (h *home) call(ctx context.Context, method, path string, body any, read func(io.Reader) error) error {
	payload := []byte(nil)
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode the call: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(payload))
	if err != nil {
		return errors.New("the call has no valid address")
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	answer, err := h.client.Do(req)
	if err != nil {
		return h.connectionError(ctx, err)
	}
	defer answer.Body.Close() //nolint:errcheck // the body was read, or is not needed any more
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // an error does not matter, because the status is enough
		return &homeError{answer.StatusCode, errorText(text)}
	}
	if err := read(answer.Body); err != nil {
		return h.connectionError(ctx, err)
	}
	return nil
}

// connectionError returns the error for a call that got no complete response.
func (h *home) connectionError(ctx context.Context, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return errors.New("Home Assistant can't be reached") //nolint:staticcheck // the text begins with a name
	}
	if ctx.Err() != nil {
		return errors.New("Home Assistant did not answer in time") //nolint:staticcheck // the text begins with a name
	}
	return errors.New("Home Assistant's answer broke off or can't be read: " + strings.ReplaceAll(err.Error(), h.token, "<token>"))
}

// command opens a WebSocket, sends one command, and decodes its result into v. Unlike the REST API, the WebSocket API reports
// why an action failed. https://developers.home-assistant.io/docs/api/websocket
func (h *home) command(ctx context.Context, command map[string]any, v any) error {
	ws, err := h.connect(ctx)
	if err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	defer ws.CloseNow() //nolint:errcheck // the result was read, or is not needed any more
	command["id"] = 1
	if err := wsjson.Write(ctx, ws, command); err != nil {
		return fmt.Errorf("%w. %s", h.connectionError(ctx, err), outcomeUnknown)
	}
	var answer homeFrame
	if err := wsjson.Read(ctx, ws, &answer); err != nil {
		return fmt.Errorf("%w. %s", h.connectionError(ctx, err), outcomeUnknown)
	}
	if !answer.Success {
		says := "Home Assistant refused the call: " + agent.Clip(agent.OneLine(answer.Error.Message), 1000)
		switch answer.Error.Code {
		case "not_found", "invalid_format", "service_validation_error", "unauthorized":
			return errors.New(says)
		}
		return errors.New(says + ". " + outcomeUnknown)
	}
	if err := json.Unmarshal(answer.Result, v); err != nil {
		return errors.New("the call was made, but Home Assistant's response can't be read")
	}
	return nil
}

// homeFrame is a message that Home Assistant sends over a WebSocket.
type homeFrame struct {
	Type    string          `json:"type"`
	Success bool            `json:"success"`
	Result  json.RawMessage `json:"result"`
	Error   struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// connect opens a WebSocket and authenticates.
func (h *home) connect(ctx context.Context) (*websocket.Conn, error) {
	ws, answer, err := websocket.Dial(ctx, h.base+"websocket", &websocket.DialOptions{HTTPClient: h.client}) //nolint:bodyclose // Dial's body need not be closed.
	switch {
	case err != nil && answer != nil && answer.StatusCode != http.StatusSwitchingProtocols:
		return nil, &homeError{status: answer.StatusCode}
	case err != nil:
		return nil, h.connectionError(ctx, err)
	}
	ws.SetReadLimit(maxHomeAnswer)
	var hello, welcome homeFrame
	err = wsjson.Read(ctx, ws, &hello)
	if err == nil {
		err = wsjson.Write(ctx, ws, map[string]string{"type": "auth", "access_token": h.token})
	}
	if err == nil {
		err = wsjson.Read(ctx, ws, &welcome)
	}
	switch {
	case err != nil:
		err = h.connectionError(ctx, err)
	case welcome.Type == "auth_invalid":
		err = &homeError{status: http.StatusUnauthorized}
	case welcome.Type != "auth_ok":
		err = errors.New("the server at this address is not Home Assistant")
	default:
		return ws, nil
	}
	_ = ws.CloseNow() // authentication failed
	return nil, err
}

// errorText returns the error message in the body of a response. If the body is not JSON, such as a proxy's HTML page,
// errorText returns an empty text.
func errorText(body []byte) string {
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) == nil {
		return agent.Clip(agent.OneLine(answer.Message), 500)
	}
	return ""
}

// into returns a function that decodes a whole response into v.
func into(v any) func(io.Reader) error {
	return func(r io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(r, maxHomeAnswer+1))
		switch {
		case err != nil:
			return err
		case len(data) > maxHomeAnswer:
			return errors.New("it is larger than 1 MB")
		}
		if text, ok := v.(*string); ok {
			*text = string(data)
			return nil
		}
		if json.Unmarshal(data, v) != nil {
			return errors.New("the response does not have the documented form")
		}
		return nil
	}
}

// each returns a function that decodes a list item by item, to save memory.
func each[T any](use func(T)) func(io.Reader) error {
	return func(r io.Reader) error {
		limited := &io.LimitedReader{R: r, N: maxHomeList}
		in := json.NewDecoder(limited)
		if token, err := in.Token(); err != nil || token != json.Delim('[') {
			return errors.New("it is not a list")
		}
		for in.More() {
			var raw json.RawMessage
			if err := in.Decode(&raw); err != nil {
				if limited.N <= 0 {
					return errors.New("it is too large")
				}
				return errors.New("it is not a whole list")
			}
			var item T
			if json.Unmarshal(raw, &item) == nil {
				use(item)
			}
		}
		_, err := in.Token()
		return err
	}
}
