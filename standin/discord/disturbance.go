package discord

import (
	"fmt"
	"net"
	"time"
)

// Kinds of disturbances of the gateway's connections.
const (
	// GatewayReconnect asks all clients to reconnect and to resume their sessions (opcode 7).
	GatewayReconnect = "reconnect"
	// GatewayInvalidate tells all clients that their session is invalid (opcode 9). If Resumable is not set,
	// GatewayInvalidate also ends the session.
	GatewayInvalidate = "invalidate"
	// GatewayDrop closes all connections without a close frame. After GatewayDrop, clients can resume their sessions.
	GatewayDrop = "drop"
	// GatewayClose closes all connections with the close code in Code.
	GatewayClose = "close"
	// GatewayZombie keeps all connections open, but the gateway then sends nothing over them, not even
	// acknowledgements of heartbeats.
	GatewayZombie = "zombie"
	// GatewayForget ends all sessions that have no connection. The gateway then refuses to resume these sessions.
	GatewayForget = "forget"
	// GatewayRefuse refuses the next resumes; the field Times is their number, and 0 means 1.
	GatewayRefuse = "refuse_resume"
	// GatewayMute sends no Hello to the next connections; the field Times is their number, and 0 means 1.
	GatewayMute = "mute"
	// GatewayBeat requests a heartbeat from all clients at once (opcode 1).
	GatewayBeat = "heartbeat"
)

// Disturbance is a problem that a test causes on the gateway, such as the loss of all connections.
type Disturbance struct {
	Kind      string `json:"kind"`
	Resumable bool   `json:"resumable"`
	Code      int    `json:"code"` // 4000 to 4014, or 1000 to 1015
	Times     int    `json:"times"`
}

func (d Disturbance) check() error {
	switch d.Kind {
	case GatewayReconnect, GatewayInvalidate, GatewayDrop, GatewayZombie, GatewayForget, GatewayRefuse, GatewayMute, GatewayBeat:
	case GatewayClose:
		if d.Code < 1000 || d.Code > 4999 || d.Code == 1005 || d.Code == 1006 || d.Code == 1015 {
			return fmt.Errorf("gateway close: %d is not a close code", d.Code)
		}
	default:
		return fmt.Errorf("unknown gateway disturbance %q", d.Kind)
	}
	if d.Times < 0 {
		return fmt.Errorf("gateway %s: negative number", d.Kind)
	}
	return nil
}

// Gateway applies the disturbance d to all connections to the gateway and returns their number. Gateway panics if d is
// invalid.
func (s *Server) Gateway(d Disturbance) int {
	if err := d.check(); err != nil {
		panic("discord stand-in: " + err.Error())
	}
	s.mu.Lock()
	var cut []net.Conn
	n := len(s.sockets)
	for k := range s.sockets {
		switch d.Kind {
		case GatewayReconnect:
			k.push(payloadOf(opReconnect, nil))
		case GatewayBeat:
			k.push(payloadOf(opHeartbeat, nil))
		case GatewayInvalidate:
			s.invalidate(k, d.Resumable)
		case GatewayDrop:
			s.detach(k, s.opts.ResumeWindow)
			cut = append(cut, k.raw)
		case GatewayClose:
			s.endWith(k, d.Code)
		case GatewayZombie:
			k.silent, k.out = true, nil
		}
	}
	switch d.Kind {
	case GatewayForget:
		for _, session := range s.sessions {
			if session.socket == nil {
				session.until = time.Time{}
			}
		}
	case GatewayRefuse:
		s.refusals += max(1, d.Times)
	case GatewayMute:
		s.mute += max(1, d.Times)
	}
	s.Publish("gateway", Event{Gateway: d.Kind})
	s.mu.Unlock()
	s.Host.Drop(cut)
	return n
}

// invalidate tells a client that its session is invalid. The connection stays open, so the client may identify or
// resume over the same connection.
func (s *Server) invalidate(k *socket, resumable bool) {
	k.push(payloadOf(opInvalidSession, resumable))
	n := k.session
	if n == nil {
		return
	}
	k.session, n.socket, n.until = nil, nil, time.Time{}
	if resumable {
		n.until = time.Now().Add(s.opts.ResumeWindow)
	}
}

// endWith closes a connection with a code. Some codes also end the session.
func (s *Server) endWith(k *socket, code int) {
	if n := k.session; n != nil && (code == closeSeq || code == closeTimedOut || code == closeNotAuthenticated || code == closeAuthentication || code >= closeShard) {
		n.socket, n.until = nil, time.Time{}
	}
	k.end(code, "Closed by the stand-in.")
}
