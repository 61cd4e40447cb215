package homeassistant

import (
	"context"
	"time"

	"github.com/coder/websocket"

	"telex/standin/rig"
)

// authTime is how long a client may take to send its auth message.
const authTime = 10 * time.Second

// readFirst reads the first frame of a client; false when the connection ends instead.
func (s *Server) readFirst(ctx context.Context, conn *websocket.Conn) ([]byte, bool) {
	limited, cancel := context.WithTimeout(ctx, authTime)
	defer cancel()
	kind, data, err := conn.Read(limited)
	if err == nil && kind != websocket.MessageText {
		s.Locked(func() { s.violate(BadAuth, authMethod, "the first frame is binary") })
	}
	return data, err == nil && kind == websocket.MessageText
}

// authenticate answers the first frame of a client, after which commands may follow or the socket ends.
// Source: homeassistant/components/websocket_api/auth.py.
func (s *Server) authenticate(ctx context.Context, k *socket, data []byte, arrived time.Time, cut <-chan struct{}) {
	token, wrong, err := parseAuth(data)
	if err != nil {
		s.Locked(func() {
			s.violate(BadAuth, authMethod, "the first frame: "+err.Error())
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
		s.violate(BadAuth, authMethod, wrong)
		return refuseAuth(call, "Auth message incorrectly formatted: "+wrong)
	case !s.authentic(token):
		if token != s.opts.Token {
			s.violate(BadAuth, authMethod, "wrong token")
		}
		s.loginFailed()
		return refuseAuth(call, "Invalid access token or password")
	}
	call.Effect = true
	return frame(object{"type": "auth_ok", "ha_version": Version})
}

// refuseAuth is the answer after which the server closes the socket.
func refuseAuth(call *Call, text string) rig.Answer {
	call.Error = "auth_invalid"
	return frame(object{"type": "auth_invalid", "message": text})
}
