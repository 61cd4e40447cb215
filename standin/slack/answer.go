package slack

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// object is a JSON object of an answer or a payload.
type object map[string]any

// apiError is an answer with ok=false. Almost all have HTTP status 200.
type apiError struct {
	status     int // 200 when 0.
	code       string
	retryAfter int
	// detail are response_metadata.messages.
	detail []string
	// extra are more fields of the answer.
	extra object
}

func fail(code string) *apiError { return &apiError{code: code} }

// tooMany is what the platform answers beyond a limit.
// Source: https://docs.slack.dev/apis/web-api/rate-limits
func tooMany(seconds int) *apiError {
	return &apiError{status: http.StatusTooManyRequests, code: "ratelimited", retryAfter: seconds}
}

// answer is what goes back over the wire.
type answer struct {
	status      int // statusGone: the connection is dropped.
	contentType string
	retryAfter  int
	body        []byte
	// broken: the connection is dropped once sent bytes of the body were written.
	broken bool
	sent   int
}

// statusGone marks a call whose connection is dropped instead of answered.
const statusGone = 0

const jsonType = "application/json; charset=utf-8"

func (e *apiError) answer() answer {
	w := object{"ok": false, "error": e.code}
	maps.Copy(w, e.extra)
	if len(e.detail) > 0 {
		w["response_metadata"] = object{"messages": e.detail}
	}
	return answer{status: orElse(e.status, http.StatusOK), contentType: jsonType, retryAfter: e.retryAfter, body: encode(w)}
}

// resultAnswer is the answer to a call that succeeded: an object, to which ok is
// added, or bytes that go out as they are.
func resultAnswer(v any) answer {
	switch v := v.(type) {
	case answer:
		return v
	case object:
		v["ok"] = true
		return answer{status: http.StatusOK, contentType: jsonType, body: encode(v)}
	}
	return answer{status: http.StatusOK, contentType: jsonType, body: encode(object{"ok": true})}
}

// encode turns the package's own types into JSON; they always can be.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Appendf(nil, `{"ok":false,"error":"internal_error","detail":%q}`, err.Error())
	}
	return data
}

// htmlAnswer is what a proxy in front of the platform answers when that is ill.
func htmlAnswer(status int) answer {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	body := "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title + "</h1></center>\r\n</body>\r\n</html>\r\n"
	return answer{status: status, contentType: "text/html", body: []byte(body)}
}

// write sends the whole answer, so that the client has it when write returns.
func (a answer) write(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	w.WriteHeader(a.status)
	if a.broken {
		a.body = a.body[:a.sent]
	}
	if _, err := w.Write(a.body); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("flush answer: %w", err)
	}
	return nil
}

// discard reads the rest of a body, else the client may lose the answer.
func discard(r io.Reader) { _, _ = io.Copy(io.Discard, r) } // its end is no news
