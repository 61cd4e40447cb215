package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is an answer with ok=false.
type apiError struct {
	code        int
	description string
	retryAfter  int
	migrateTo   int64
}

func badRequest(text string) *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: " + text}
}

func forbidden(text string) *apiError {
	return &apiError{code: http.StatusForbidden, description: "Forbidden: " + text}
}

func conflict(text string) *apiError {
	return &apiError{code: http.StatusConflict, description: "Conflict: " + text}
}

func tooMany(seconds int) *apiError {
	return &apiError{
		code:        http.StatusTooManyRequests,
		description: fmt.Sprintf("Too Many Requests: retry after %d", seconds),
		retryAfter:  seconds,
	}
}

// answer is what goes back over the wire.
type answer struct {
	status      int
	contentType string
	retryAfter  int
	body        []byte
	chunked     bool                            // the length isn't told.
	stream      func(http.ResponseWriter) error // writes the answer in its own way; may be nil.
}

const jsonType = "application/json"

type wireParameters struct {
	MigrateToChatID int64 `json:"migrate_to_chat_id,omitempty"`
	RetryAfter      int   `json:"retry_after,omitempty"`
}

type wireError struct {
	OK          bool            `json:"ok"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  *wireParameters `json:"parameters,omitempty"`
}

type wireResult struct {
	OK     bool `json:"ok"`
	Result any  `json:"result"`
}

func (e *apiError) answer() answer {
	w := wireError{ErrorCode: e.code, Description: e.description}
	if e.retryAfter > 0 || e.migrateTo != 0 {
		w.Parameters = &wireParameters{MigrateToChatID: e.migrateTo, RetryAfter: e.retryAfter}
	}
	return answer{status: e.code, contentType: jsonType, retryAfter: e.retryAfter, body: encode(w)}
}

func resultAnswer(v any) answer {
	if f, ok := v.(*storedFile); ok {
		return f.answer()
	}
	return answer{status: http.StatusOK, contentType: jsonType, body: encode(wireResult{OK: true, Result: v})}
}

// encode turns the package's own types into JSON; they always can be.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Appendf(nil, `{"ok":false,"error_code":500,"description":%q}`, "Internal Server Error: "+err.Error())
	}
	return data
}

// htmlAnswer is what a proxy in front of the platform answers when that is ill.
func htmlAnswer(status int) answer {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	body := "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
		"</h1></center>\r\n<hr><center>nginx/1.18.0</center>\r\n</body>\r\n</html>\r\n"
	return answer{status: status, contentType: "text/html", body: []byte(body)}
}

// write sends the whole answer, so that the client has it when write returns.
func (a answer) write(w http.ResponseWriter) error {
	if a.stream != nil {
		return a.stream(w)
	}
	a.begin(w)
	return a.piece(w, a.body)
}

// withoutMessageID takes the id out of a result, as a gateway that answers for
// the platform may do.
func withoutMessageID(body []byte) []byte {
	var w struct {
		OK     bool                       `json:"ok"`
		Result map[string]json.RawMessage `json:"result"`
	}
	if json.Unmarshal(body, &w) != nil || w.Result == nil {
		return body
	}
	delete(w.Result, "message_id")
	return encode(w)
}
