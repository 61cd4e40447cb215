package slack

import (
	"cmp"
	"maps"
	"net/http"

	"telex/standin/rig"
)

// object is a JSON object in a response or a payload.
type object map[string]any

// apiError is a response with ok=false. Slack sends almost all such responses with HTTP status 200. To refuse a call, a
// method panics with an apiError; see package rig.
type apiError struct {
	status     int // 0 means 200
	code       string
	retryAfter int
	// detail is the field response_metadata.messages of the response.
	detail []string
	// extra contains further fields of the response.
	extra object
}

func fail(code string) *apiError { return &apiError{code: code} }

// failIf refuses the call with an error code if broken is true.
func failIf(broken bool, code string) {
	if broken {
		panic(fail(code))
	}
}

// tooMany returns Slack's response to a call that exceeds a limit. Source:
// https://docs.slack.dev/apis/web-api/rate-limits
func tooMany(seconds int) *apiError {
	return &apiError{status: http.StatusTooManyRequests, code: "ratelimited", retryAfter: seconds}
}

// reply returns a JSON response.
func reply(status int, o object) rig.Answer {
	a := rig.JSON(status, o)
	a.ContentType = "application/json; charset=utf-8"
	return a
}

func (e *apiError) answer() rig.Answer {
	w := object{"ok": false, "error": e.code}
	maps.Copy(w, e.extra)
	if len(e.detail) > 0 {
		w["response_metadata"] = object{"messages": e.detail}
	}
	a := reply(cmp.Or(e.status, http.StatusOK), w)
	a.RetryAfter = float64(e.retryAfter)
	return a
}

// resultAnswer returns the response to a successful call. v is an object, to which resultAnswer adds the field ok, or
// bytes that it sends unchanged.
func resultAnswer(v any) rig.Answer {
	switch v := v.(type) {
	case rig.Answer:
		return v
	case object:
		v["ok"] = true
		return reply(http.StatusOK, v)
	}
	return reply(http.StatusOK, object{"ok": true})
}
