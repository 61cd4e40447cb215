package discord

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// JSON error codes that the stand-in answers.
// Source: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
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

// apiError is an answer that is no success.
type apiError struct {
	status  int
	code    int
	message string
	form    formErrors
	limit   *rateLimited // of a 429.
}

// rateLimited is what a 429 says beyond the message.
type rateLimited struct {
	retryAfter float64 // seconds, rounded up to milliseconds.
	scope      string  // user, global or shared.
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

// plain is an error that has no code of its own, such as "404: Not Found".
func plain(status int) *apiError {
	return fail(status, 0, strconv.Itoa(status)+": "+http.StatusText(status))
}

// formErrors are what is wrong with the fields of a request.
type formErrors []formError

type formError struct {
	path          []string
	code, message string
}

// err is the 50035 that carries them; nil when there are none.
func (f formErrors) err() *apiError {
	if len(f) == 0 {
		return nil
	}
	return &apiError{status: http.StatusBadRequest, code: codeInvalidForm, message: "Invalid Form Body", form: f}
}

// badField is a 50035 about one field.
func badField(code, message string, path ...string) *apiError {
	return formErrors{{path: path, code: code, message: message}}.err()
}

// tree nests the errors as the platform does: by field and index, each list under "_errors".
// Source: https://docs.discord.com/developers/reference#error-messages
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

// answer is what goes back over the wire.
type answer struct {
	status      int
	contentType string
	header      http.Header
	body        []byte
	cutMiddle   bool // the connection breaks after half of the body.
	retryAfter  float64
	code        int
}

const (
	jsonType = "application/json"
	// statusGone marks a call whose connection is dropped instead of answered.
	statusGone = 0
)

func (e *apiError) answer() answer {
	body := map[string]any{"message": e.message, "code": e.code}
	a := answer{status: e.status, contentType: jsonType, header: make(http.Header), code: e.code}
	if len(e.form) > 0 {
		body["errors"] = e.form.tree()
	}
	if l := e.limit; l != nil {
		a.retryAfter = l.retryAfter
		body["retry_after"], body["global"] = l.retryAfter, l.scope == scopeGlobal
		if e.code == 0 {
			delete(body, "code")
		}
		a.header.Set("Retry-After", strconv.Itoa(wholeSeconds(l.retryAfter)))
		a.header.Set("X-RateLimit-Scope", l.scope)
		if l.scope == scopeGlobal {
			a.header.Set("X-RateLimit-Global", "true")
		}
	}
	a.body = encode(body)
	return a
}

func resultAnswer(v any) answer {
	switch v := v.(type) {
	case nil:
		return answer{status: http.StatusNoContent, header: make(http.Header)}
	case created:
		return answer{status: http.StatusCreated, contentType: jsonType, header: make(http.Header), body: encode(v.v)}
	case answer:
		return v
	}
	return answer{status: http.StatusOK, contentType: jsonType, header: make(http.Header), body: encode(v)}
}

// created marks a result that is answered 201.
type created struct{ v any }

// htmlAnswer is what a proxy in front of the platform answers when that is ill.
func htmlAnswer(status int) answer {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return answer{
		status: status, contentType: "text/html", header: make(http.Header),
		body: []byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
			"</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"),
	}
}

// encode turns the package's own types into JSON; they always can be.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Appendf(nil, `{"message":%q,"code":0}`, "500: "+err.Error())
	}
	return data
}

// write sends the whole answer, so that the client has it when write returns.
func (a answer) write(w http.ResponseWriter) error {
	maps.Copy(w.Header(), a.header)
	if a.contentType != "" {
		w.Header().Set("Content-Type", a.contentType)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.status == http.StatusNoContent {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(a.status)
	body := a.body
	if a.cutMiddle {
		body = body[:len(body)/2]
	}
	if _, err := w.Write(body); err != nil && a.status != http.StatusNoContent {
		return fmt.Errorf("write answer: %w", err)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if a.cutMiddle {
		return errBroken
	}
	return nil
}
