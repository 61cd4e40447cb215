package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"

	"telex/standin/rig"
)

// apiError is a response with ok=false. To refuse a call, a method panics with an apiError; see package rig.
type apiError struct {
	code        int
	description string
	retryAfter  int
	migrateTo   int64
}

func badRequest(text string) *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: " + text}
}

// badRequestIf refuses the call with a 400 if broken is true.
func badRequestIf(broken bool, format string, args ...any) {
	if broken {
		panic(badRequest(fmt.Sprintf(format, args...)))
	}
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

// proxyServer is the name of the proxy in front of Telegram, which sends the error pages during an outage.
const proxyServer = "nginx/1.18.0"

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

func (e *apiError) answer() rig.Answer {
	w := wireError{ErrorCode: e.code, Description: e.description}
	if e.retryAfter > 0 || e.migrateTo != 0 {
		w.Parameters = &wireParameters{MigrateToChatID: e.migrateTo, RetryAfter: e.retryAfter}
	}
	a := rig.JSON(e.code, w)
	a.RetryAfter = float64(e.retryAfter)
	return a
}

func resultAnswer(v any) rig.Answer {
	if f, ok := v.(*storedFile); ok {
		return f.answer()
	}
	return rig.JSON(http.StatusOK, wireResult{OK: true, Result: v})
}

// withoutMessageID removes the message's id from a response, as a faulty proxy between a bot and Telegram may do.
func withoutMessageID(body []byte) []byte {
	var w struct {
		OK     bool                       `json:"ok"`
		Result map[string]json.RawMessage `json:"result"`
	}
	if json.Unmarshal(body, &w) != nil || w.Result == nil {
		return body
	}
	delete(w.Result, "message_id")
	return rig.Encode(w)
}
