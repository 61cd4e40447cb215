package homeassistant

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"telex/standin/rig"
)

// Call is a REST call, a command on a socket, the opening of a socket, or its authentication. The package comment lists
// the names of calls.
type Call struct {
	rig.Call
	// Via is rest or socket.
	Via string `json:"via"`
	// Place is the id of the notification. In other calls, it is the first entity.
	Place string `json:"place,omitempty"`
	// Text is the message of a notification.
	Text string `json:"text,omitempty"`
	// Error is an error's code on a socket, or an error's message by REST.
	Error string `json:"error,omitempty"`
	// Data is the data of a service, or the whole command. It never contains a token.
	Data json.RawMessage `json:"data,omitempty"`

	id         json.RawMessage // the id of a command, as received
	subscribes *subscription   // the subscription that the call adds to its socket
}

// The ways in which a call arrives.
const (
	viaREST   = "rest"
	viaSocket = "socket"
)

// Calls that are not commands.
const (
	openMethod = "socket"
	authMethod = "auth"
)

// object is a JSON object that is sent.
type object map[string]any

// refusal is an error of a call. Methods panic with it.
type refusal struct {
	// code and text are the error on a socket.
	code, text string
	// key is the translation key, or "".
	key string
	// status is the status of the REST response. whole makes its body {"message": text} instead of the status text.
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

// invalidFormat refuses arguments that violate the schema.
func invalidFormat(text string) *refusal {
	return &refusal{code: codeFormat, text: text, status: http.StatusBadRequest}
}

// validationError refuses an impossible call of a service. By REST it is an internal error.
func validationError(key, text string) *refusal {
	return &refusal{code: codeValidation, text: "Validation error: " + text, key: key, status: http.StatusInternalServerError}
}

// restMessage returns a REST error or result with a text.
func restMessage(status int, text string) *refusal {
	return &refusal{code: codeUnspecified, text: text, status: status, whole: true}
}

// rest returns the REST response.
func (f *refusal) rest() rig.Answer {
	if f.whole {
		return rig.JSON(f.status, object{"message": f.text})
	}
	return statusAnswer(f.status)
}

// result returns the response on a socket.
func (f *refusal) result(id json.RawMessage) rig.Answer {
	e := object{"code": f.code, "message": f.text}
	if f.key != "" {
		e["translation_key"], e["translation_domain"] = f.key, "homeassistant"
	}
	return frame(object{"id": id, "type": "result", "success": false, "error": e})
}

// statusAnswer returns a response with the status text, like the HTTP server of Home Assistant.
func statusAnswer(status int) rig.Answer {
	if status == http.StatusInternalServerError {
		return rig.Text(status, "500 Internal Server Error\n\nServer got itself in trouble")
	}
	return rig.Text(status, strconv.Itoa(status)+": "+http.StatusText(status))
}

// frame returns a message on a socket as the response to a call.
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

// finish counts the end of a call.
func (s *Server) finish(call *Call, _ rig.Answer) []slog.Attr {
	if call.Error != "" {
		s.stats.ByError[call.Error]++
	}
	return []slog.Attr{slog.String("via", call.Via), slog.String("place", call.Place), slog.String("error", call.Error)}
}
