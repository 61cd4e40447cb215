package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"telex/agent"
)

// These are types of errors in OpenAI's API (https://platform.openai.com/docs/guides/error-codes/api-errors).
const (
	invalidRequest = "invalid_request_error"
	authentication = "authentication_error"
	rateLimit      = "rate_limit_exceeded"
	noQuota        = "insufficient_quota"
	serverError    = "server_error"
)

// apiError is an error in the form in which the server sends it to the client.
type apiError struct {
	status      int
	kind        string // the value of the field type in the error's JSON
	message     string
	param, code string        // if empty, the JSON value is null
	retryAfter  time.Duration // 0: the response has no header Retry-After
	noRetry     bool          // tells the official SDKs not to repeat the request
	clientGone  bool          // the client has disconnected
}

func (e *apiError) Error() string { return e.message }

// envelope is the JSON body of a response that reports an error.
type envelope struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) envelope() envelope {
	return envelope{errorBody{Message: e.message, Type: e.kind, Param: nullable(e.param), Code: nullable(e.code)}}
}

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// badRequest returns the error for an invalid parameter.
func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: invalidRequest, param: param, code: "invalid_value", message: fmt.Sprintf(format, args...)}
}

func errNoModel(name string) *apiError {
	return &apiError{
		status: http.StatusNotFound, kind: invalidRequest, param: "model", code: "model_not_found",
		message: fmt.Sprintf("The model %q does not exist. GET /v1/models lists the models.", clip(name)),
	}
}

func errInternal(request string) *apiError {
	return &apiError{status: http.StatusInternalServerError, kind: serverError, message: "The server had an error. Its log has the details, under " + request + "."}
}

// errRestarted ends a streamed turn if the model begins its answer again from the start. The server can't continue the
// stream, because it can't remove the text that it has already sent.
var errRestarted = errors.New("the answer restarted after a part of it was sent")

// turnError converts the error of a failed turn to the error that the client gets. If a model provider reported the
// error, turnError passes on the error's text only if the client's request caused the error.
func turnError(ctx context.Context, err error, request string) *apiError {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopping):
		return &apiError{status: http.StatusServiceUnavailable, kind: serverError, code: "shutting_down", message: "The server is stopping. Ask again in a moment.", retryAfter: time.Second}
	case errors.Is(cause, errRestarted):
		return &apiError{status: http.StatusBadGateway, kind: serverError, code: "answer_broken", message: "The model's answer broke off. Ask again."}
	case ctx.Err() != nil:
		return &apiError{status: 499, kind: serverError, message: "The client closed the connection.", clientGone: true}
	}
	failed := &apiError{status: http.StatusBadGateway, kind: serverError, code: "model_failed", message: "The model could not answer. The server's log has the details, under " + request + "."}
	if ended, ok := errors.AsType[*agent.Error](err); ok {
		switch ended.Reason {
		case agent.StopTimeLimit, agent.StopFirstToken, agent.StopSilence:
			failed.status, failed.code, failed.noRetry = http.StatusServiceUnavailable, "model_timeout", ended.Reason == agent.StopTimeLimit
			failed.message = "The model took too long. The server's log has the details, under " + request + "."
			return failed
		}
	}
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok {
		return failed
	}
	switch me.Kind {
	case agent.RateLimited:
		failed.status, failed.kind, failed.code, failed.message = http.StatusTooManyRequests, rateLimit, rateLimit, "The model's provider limits the rate of requests. Ask again later."
		failed.retryAfter = max(me.RetryAfter, time.Second)
	case agent.Quota:
		failed.status, failed.kind, failed.code, failed.message = http.StatusTooManyRequests, noQuota, noQuota, "The account at the model's provider has no credit left."
		failed.noRetry = true
	case agent.BadRequest, agent.BadImage, agent.ContextLength, agent.TooLarge, agent.NoTools:
		if me.Status == http.StatusNotFound { // the provider does not have the configured model
			failed.noRetry = true
			break
		}
		failed.status, failed.kind, failed.code = http.StatusBadRequest, invalidRequest, "invalid_request"
		failed.message = "The model's provider refused the request: " + clip(me.Err.Error())
	case agent.Auth:
		failed.noRetry = true
	}
	return failed
}

// errTooLong returns the error for a request that does not fit into the model's context window.
func errTooLong(param string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, kind: invalidRequest, param: param, code: "context_length_exceeded",
		message: "The newest message does not fit the model's context window.",
	}
}

// clip shortens a text from a client or a provider to one line of limited length, so that an error message can quote
// the text.
func clip(s string) string { return agent.Clip(agent.OneLine(s), 300) }
