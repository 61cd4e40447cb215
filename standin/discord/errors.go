package discord

import (
	"net/http"
	"strconv"

	"telex/standin/rig"
)

// JSON error codes that the stand-in uses. Source:
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
const (
	codeUnknownChannel      = 10003
	codeUnknownGuild        = 10004
	codeUnknownMessage      = 10008
	codeUnknownUser         = 10013
	codeUnknownWebhook      = 10015
	codeUnknownInteraction  = 10062
	codeUnknownCommand      = 10063
	codeDailyCommands       = 30034
	codeOldEdits            = 30046
	codeTooLarge            = 40005
	codeAlreadyAcknowledged = 40060
	codeFollowUps           = 40094
	codeMissingAccess       = 50001
	codeForeignMessage      = 50005
	codeEmptyMessage        = 50006
	codeCannotSendToUser    = 50007
	codeMissingPermissions  = 50013
	codeDeleteCount         = 50016
	codeWrongChannelType    = 50024
	codeWebhookToken        = 50027
	codeOldBulkDelete       = 50034
	codeInvalidForm         = 50035
	codeAPIVersion          = 50041
	codeArchivedThread      = 50083
	codeInvalidJSON         = 50109
	codeThreadExists        = 160004
)

// apiError is an error response. To refuse a call, a method of the API panics with an apiError; see package rig.
type apiError struct {
	status  int
	code    int
	message string
	form    formErrors
	limit   *rateLimited // set only for a 429
}

// rateLimited holds the additional fields of a 429.
type rateLimited struct {
	retryAfter float64 // seconds that the client must wait, rounded up to milliseconds
	scope      string  // user, global or shared
}

func fail(status, code int, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

func notFound(code int, what string) *apiError {
	return fail(http.StatusNotFound, code, "Unknown "+what)
}

func unknownMessage() *apiError { return notFound(codeUnknownMessage, "Message") }

func missingAccess() *apiError {
	return fail(http.StatusForbidden, codeMissingAccess, "Missing Access")
}

func missingPermissions() *apiError {
	return fail(http.StatusForbidden, codeMissingPermissions, "Missing Permissions")
}

// statusError returns an error that has no JSON error code, and whose message is the HTTP status with its text.
func statusError(status int) *apiError {
	return fail(status, 0, strconv.Itoa(status)+": "+http.StatusText(status))
}

// formErrors lists the errors in the fields of a request.
type formErrors []formError

type formError struct {
	path          []string
	code, message string
}

// err returns the errors as one error with code 50035 (invalid form body), or nil if there are none.
func (f formErrors) err() *apiError {
	if len(f) == 0 {
		return nil
	}
	return &apiError{status: http.StatusBadRequest, code: codeInvalidForm, message: "Invalid Form Body", form: f}
}

// refuse refuses the call if the list contains any errors.
func (f formErrors) refuse() {
	if aerr := f.err(); aerr != nil {
		panic(aerr)
	}
}

// badField returns an error 50035 (invalid form body) for one field.
func badField(code, message string, path ...string) *apiError {
	return formErrors{{path: path, code: code, message: message}}.err()
}

// tree nests the errors by field and index, with each list of errors under the key "_errors", as Discord does. Source:
// https://docs.discord.com/developers/reference#error-messages
func (f formErrors) tree() map[string]any {
	type leaf struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	root := make(map[string]any)
	for _, e := range f {
		node := root
		for _, name := range e.path {
			child, ok := node[name].(map[string]any)
			if !ok {
				child = make(map[string]any)
				node[name] = child
			}
			node = child
		}
		list, _ := node["_errors"].([]leaf)
		node["_errors"] = append(list, leaf{e.code, e.message})
	}
	return root
}

// proxyServer is the name of the proxy in front of Discord, which sends the error pages during an outage.
const proxyServer = "cloudflare"

func (e *apiError) answer() rig.Answer {
	body := map[string]any{"message": e.message, "code": e.code}
	header := make(http.Header)
	if len(e.form) > 0 {
		body["errors"] = e.form.tree()
	}
	var retryAfter float64
	if l := e.limit; l != nil {
		retryAfter = l.retryAfter
		body["retry_after"], body["global"] = l.retryAfter, l.scope == scopeGlobal
		if e.code == 0 {
			delete(body, "code")
		}
		header.Set("X-RateLimit-Scope", l.scope)
		if l.scope == scopeGlobal {
			header.Set("X-RateLimit-Global", "true")
		}
	}
	a := rig.JSON(e.status, body)
	a.Header, a.RetryAfter = header, retryAfter
	return a
}

func resultAnswer(v any) rig.Answer {
	switch v := v.(type) {
	case nil:
		return rig.Answer{Status: http.StatusNoContent}
	case created:
		return rig.JSON(http.StatusCreated, v.v)
	case rig.Answer:
		return v
	}
	return rig.JSON(http.StatusOK, v)
}

// created marks a method's result that the server must send with status 201.
type created struct{ v any }
