package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is the error body of a refused request. To refuse a request, the functions that check it panic with an
// apiError. The error body has the form of https://platform.openai.com/docs/guides/error-codes/api-errors.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

// newError builds an error body; an empty param or code becomes null.
func newError(status int, kind, param, code, message string) *apiError {
	return &apiError{status: status, Message: message, Type: kind, Param: orNull(param), Code: orNull(code)}
}

// invalid returns the error for an invalid parameter.
func invalid(param, code, format string, args ...any) *apiError {
	return newError(http.StatusBadRequest, "invalid_request_error", param, code, fmt.Sprintf(format, args...))
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// body returns the JSON document {"error": …}.
func (e *apiError) body() []byte {
	return mustJSON(map[string]any{"error": e})
}

// mustJSON marshals a value of this package, which never fails.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // providers do not escape < and & in JSON
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("openai: marshal %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// errorFor returns OpenAI's usual error for the status of the behaviour. Settings such as code and message replace
// parts of this error.
func errorFor(b behaviour) *apiError {
	e := newError(b.status, "server_error", "", "", "The server had an error while processing your request. Sorry about that!")
	switch b.status {
	case http.StatusBadRequest:
		e = newError(b.status, "invalid_request_error", "", "", "We could not parse the JSON body of your request.")
	case http.StatusUnauthorized:
		e = newError(b.status, "invalid_request_error", "", "invalid_api_key", "Incorrect API key provided.")
	case http.StatusForbidden:
		e = newError(b.status, "request_forbidden", "", "unsupported_country_region_territory", "Country, region, or territory not supported")
	case http.StatusNotFound:
		e = newError(b.status, "invalid_request_error", "", "model_not_found", "The model does not exist or you do not have access to it.")
	case http.StatusRequestTimeout:
		e = newError(b.status, "invalid_request_error", "", "request_timeout", "Timed out waiting for the request.")
	case http.StatusConflict:
		e = newError(b.status, "invalid_request_error", "", "conflict", "The resource was updated by another request. Please retry.")
	case http.StatusTooManyRequests:
		e = newError(b.status, "requests", "", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later.")
		if b.code == "insufficient_quota" {
			e = newError(b.status, "insufficient_quota", "", b.code,
				"You exceeded your current quota, please check your plan and billing details.")
		}
	case http.StatusServiceUnavailable:
		e.Message = "The engine is currently overloaded, please try again later"
	}
	if b.code != "" {
		e.Code = &b.code
	}
	if b.message != "" {
		e.Message = b.message
	}
	return e
}

// htmlPage returns the error page of a proxy in front of a provider.
func htmlPage(status int) []byte {
	text := http.StatusText(status)
	return fmt.Appendf(nil, "<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n<center><h1>%d %s</h1></center>\r\n"+
		"<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n", status, text, status, text)
}
