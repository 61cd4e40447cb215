package homeassistant

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"telex/standin/rig"
)

// Call is one call by REST, one command on a socket, the opening of a socket or its authentication. The package
// comment says how they are named.
type Call struct {
	rig.Call
	// Via is rest or socket.
	Via string `json:"via"`
	// Place is the id of the notification, or else the entity, that the call names first.
	Place string `json:"place,omitempty"`
	// Text is the message of a notification.
	Text string `json:"text,omitempty"`
	// Error is the code of an error on a socket, or the message of one by REST.
	Error string `json:"error,omitempty"`
	// Data are the data of a service, or the whole command; it never holds a token.
	Data json.RawMessage `json:"data,omitempty"`

	id         json.RawMessage // of a command.
	subscribes *subscription   // what it adds to its socket.
}

// Ways of a call.
const (
	viaREST   = "rest"
	viaSocket = "socket"
)

// Calls that are no commands.
const (
	openMethod = "socket"
	authMethod = "auth"
)

// object is a JSON object that goes out.
type object map[string]any

// refusal is an error of a call, which methods panic with.
type refusal struct {
	// code and text are the error on a socket.
	code, text string
	// key is the translation key, "" without one.
	key string
	// status is that of the answer by REST; whole makes its body {"message": text} instead of the status in words.
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

// invalid refuses arguments that break the schema.
func invalid(text string) *refusal {
	return &refusal{code: codeFormat, text: text, status: http.StatusBadRequest}
}

// validation refuses what a service can't do. By REST it is an internal error.
func validation(key, text string) *refusal {
	return &refusal{code: codeValidation, text: "Validation error: " + text, key: key, status: http.StatusInternalServerError}
}

// message is an error or a result by REST in words.
func message(status int, text string) *refusal {
	return &refusal{code: codeUnspecified, text: text, status: status, whole: true}
}

// rest is the answer by REST.
func (f *refusal) rest() rig.Answer {
	if f.whole {
		return rig.JSON(f.status, object{"message": f.text})
	}
	return plain(f.status)
}

// result is the answer on a socket.
func (f *refusal) result(id json.RawMessage) rig.Answer {
	e := object{"code": f.code, "message": f.text}
	if f.key != "" {
		e["translation_key"], e["translation_domain"] = f.key, "homeassistant"
	}
	return frame(object{"id": id, "type": "result", "success": false, "error": e})
}

// plain is a status in words, as the HTTP server below Home Assistant answers it.
func plain(status int) rig.Answer {
	if status == http.StatusInternalServerError {
		return rig.Text(status, "500 Internal Server Error\n\nServer got itself in trouble")
	}
	return rig.Text(status, strconv.Itoa(status)+": "+http.StatusText(status))
}

// frame is a message on a socket, as the answer to a call.
func frame(o object) rig.Answer { return rig.Answer{Status: http.StatusOK, Body: rig.Encode(o)} }

// invoke runs a call with the mutex held, and returns its result or its error.
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
