package homeassistant

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"telex/standin/rig"
)

// authTimeout is how long a client may take to send its auth message.
const authTimeout = 10 * time.Second

// readFirst reads the first frame of a client. readFirst returns false if the connection ends first.
func (s *Server) readFirst(ctx context.Context, conn *websocket.Conn) ([]byte, bool) {
	limited, cancel := context.WithTimeout(ctx, authTimeout)
	defer cancel()
	kind, data, err := conn.Read(limited)
	if err == nil && kind != websocket.MessageText {
		s.Locked(func() { s.recordViolation(BadAuth, authMethod, "the first frame is binary") })
	}
	return data, err == nil && kind == websocket.MessageText
}

// authenticate answers the first frame of a client. If the token is valid, the client may then send commands. If the
// token is invalid, authenticate ends the socket. Source: homeassistant/components/websocket_api/auth.py.
func (s *Server) authenticate(ctx context.Context, k *socket, data []byte, arrived time.Time, cut <-chan struct{}) {
	token, wrong, err := parseAuth(data)
	if err != nil {
		s.Locked(func() {
			s.recordViolation(BadAuth, authMethod, "the first frame: "+err.Error())
			k.end()
		})
		return
	}
	call := &Call{Call: rig.Call{At: arrived, Method: authMethod}, Via: viaSocket}
	s.exchange(ctx, k, call, cut, nil, func() rig.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.login(call, token, wrong)
	})
	if k.authenticated = call.Effect && call.Error == ""; !k.authenticated {
		s.Locked(k.end)
	}
}

// login answers an auth message. The caller holds s.mu.
func (s *Server) login(call *Call, token, wrong string) rig.Answer {
	switch {
	case wrong != "":
		s.recordViolation(BadAuth, authMethod, wrong)
		return refuseAuth(call, "Auth message incorrectly formatted: "+wrong)
	case !s.validToken(token):
		if token != s.opts.Token {
			s.recordViolation(BadAuth, authMethod, "wrong token")
		}
		s.loginFailed()
		return refuseAuth(call, "Invalid access token or password")
	}
	call.Effect = true
	return frame(object{"type": "auth_ok", "ha_version": Version})
}

// refuseAuth returns the response to a failed authentication. After this response, the server closes the socket.
func refuseAuth(call *Call, text string) rig.Answer {
	call.Error = "auth_invalid"
	return frame(object{"type": "auth_invalid", "message": text})
}
