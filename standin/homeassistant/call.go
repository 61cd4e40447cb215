package homeassistant

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"telex/standin/rig"
)

// Call is a REST call, a command on a socket, the opening of a socket, or the authentication on a socket. The package
// comment lists the names of calls.
type Call struct {
	rig.Call
	// Via is the way in which the call arrived: rest or socket.
	Via string `json:"via"`
	// Place is the id of the notification that the call concerns. If a call concerns no notification, Place is the id of
	// the first entity that the call names.
	Place string `json:"place,omitempty"`
	// Text is the message of a notification.
	Text string `json:"text,omitempty"`
	// Error is the error code of a command on a socket, or the error message of a REST call.
	Error string `json:"error,omitempty"`
	// Data is the data for a called service, or the whole command. Data never contains a token.
	Data json.RawMessage `json:"data,omitempty"`

	id         json.RawMessage // the id of a command, as received
	subscribes *subscription   // the subscription that the call adds to its socket
}

// The ways in which a call arrives.
const (
	viaREST   = "rest"
	viaSocket = "socket"
)

// Names of calls that are not commands.
const (
	openMethod = "socket"
	authMethod = "auth"
)

// object is a JSON object that the server sends.
type object map[string]any

// refusal is an error response. To refuse a call, a method panics with a refusal; see package rig.
type refusal struct {
	// code and text are the code and the message of the error on a socket.
	code, text string
	// key is the key by which Home Assistant translates the error message, or "".
	key string
	// status is the HTTP status of a REST response. If whole is set, the body of the response is {"message": text}. If
	// whole is not set, the body is the text of the HTTP status.
	status int
	whole  bool
}

// Codes of errors on a socket. Source: homeassistant/components/websocket_api/const.py.
const (
	codeIDReuse     = "id_reuse"
	codeFormat      = "invalid_format"
	codeNotFound    = "not_found"
	codeValidation  = "service_validation_error"
	codeUnknown     = "unknown_command"
	codeUnspecified = "unknown_error"
)

// invalidFormat returns the error for arguments that violate the schema of a command or service.
func invalidFormat(text string) *refusal {
	return &refusal{code: codeFormat, text: text, status: http.StatusBadRequest}
}

// validationError returns the error for a service call that Home Assistant can't execute. A REST call gets this error
// with status 500.
func validationError(key, text string) *refusal {
	return &refusal{code: codeValidation, text: "Validation error: " + text, key: key, status: http.StatusInternalServerError}
}

// restMessage returns a REST response, an error or a result, that contains the given text.
func restMessage(status int, text string) *refusal {
	return &refusal{code: codeUnspecified, text: text, status: status, whole: true}
}

// rest returns the error in the form of a REST response.
func (f *refusal) rest() rig.Answer {
	if f.whole {
		return rig.JSON(f.status, object{"message": f.text})
	}
	return statusAnswer(f.status)
}

// result returns the error in the form of a response on a socket.
func (f *refusal) result(id json.RawMessage) rig.Answer {
	e := object{"code": f.code, "message": f.text}
	if f.key != "" {
		e["translation_key"], e["translation_domain"] = f.key, "homeassistant"
	}
	return frame(object{"id": id, "type": "result", "success": false, "error": e})
}

// statusAnswer returns a response that contains only the status text, as Home Assistant's HTTP server does.
func statusAnswer(status int) rig.Answer {
	if status == http.StatusInternalServerError {
		return rig.Text(status, "500 Internal Server Error\n\nServer got itself in trouble")
	}
	return rig.Text(status, strconv.Itoa(status)+": "+http.StatusText(status))
}

// frame returns the response to a call on a socket: a message that contains o.
func frame(o object) rig.Answer { return rig.Answer{Status: http.StatusOK, Body: rig.Encode(o)} }

// invoke runs a call while it holds s.mu, and returns its result or its error.
func (s *Server) invoke(call *Call, run func() any) (result any, refused *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, refused = rig.Run[refusal](run)
	if refused != nil {
		call.Error = refused.code
		if call.Via == viaREST {
			call.Error = refused.text
		}
	}
	call.Effect = refused == nil
	return result, refused
}

// finish counts a finished call, and returns attributes for the log.
func (s *Server) finish(call *Call, _ rig.Answer) []slog.Attr {
	if call.Error != "" {
		s.stats.ByError[call.Error]++
	}
	return []slog.Attr{slog.String("via", call.Via), slog.String("place", call.Place), slog.String("error", call.Error)}
}
