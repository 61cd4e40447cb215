package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"telex/standin/rig"
)

// Properties of Socket Mode. Source: https://docs.slack.dev/apis/events-api/using-socket-mode
const (
	// maxSockets is the maximum number of open sockets of an app.
	maxSockets = 10
	// ticketLifetime is how long a client can use a URL from apps.connections.open to open a socket.
	ticketLifetime = 30 * time.Second
	// socketLifetime is the time after which the server asks the client to reconnect. The value of socketLifetime is from
	// an example in Slack's documentation. debugSocketLifetime is the time for a socket that a client opens with
	// debug_reconnects=true.
	socketLifetime      = 18_060 * time.Second
	debugSocketLifetime = 360 * time.Second
	// warnTime is how long before the refresh of a socket the server sends a warning.
	warnTime = 10 * time.Second
	// pingEvery is the interval of the server's pings. pongTimeout is how long the server waits for the response to
	// a ping.
	pingEvery   = 10 * time.Second
	pongTimeout = 10 * time.Second
	// writeTimeout is how long a client may take to read one envelope.
	writeTimeout = 10 * time.Second
	// maxAck is the maximum size of a client's message in bytes.
	maxAck = 1 << 20
)

// Reasons for a disconnect.
const (
	ReasonWarning      = "warning"
	ReasonRefresh      = "refresh_requested"
	ReasonLinkDisabled = "link_disabled"
	reasonTooMany      = "too_many_websockets"
)

// socketTicket is the right to open one socket with a URL that apps.connections.open returned.
type socketTicket struct{ until time.Time }

// socket is one open WebSocket connection of the app. Server.mu guards the fields.
type socket struct {
	id      int
	out     []frame
	wake    chan struct{} // signals that the field out changed; capacity 1
	stalled bool          // the connection is half-open: nothing is transmitted, and the server does not notice
	cancel  context.CancelFunc
}

// frame is a message that the server sends over a socket, or a request to disconnect.
type frame struct {
	data   []byte
	reason string
	grace  time.Duration // time from the warning to the refresh
}

func (k *socket) put(f frame) {
	k.out = append(k.out, f)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// envelope is a message in Socket Mode that waits for the app's acknowledgement.
type envelope struct {
	id     string
	socket *socket
	acked  chan json.RawMessage // receives the app's acknowledgement; capacity 1
	late   bool                 // ackTimeout has passed
}

// openConnection implements https://docs.slack.dev/reference/methods/apps.connections.open.
func (s *Server) openConnection(r *request) any {
	failIf(s.requestURL != "", "socket_mode_disabled")
	id := s.uuid()
	s.tickets[id] = socketTicket{until: r.now.Add(ticketLifetime)}
	base := scheme(r.http, "ws") + r.http.Host
	return object{"url": base + "/link/?ticket=" + id + "&app_id=" + AppID}
}

// serveSocket opens a socket for a ticket and serves it until it ends.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	call := &Call{Call: rig.Call{At: time.Now(), Method: socketMethod}}
	if !s.Admit(w, r, call, cut, s.opts.Latency, func() *rig.Answer { return s.takeTicket(r) }) {
		return
	}
	k := &socket{wake: make(chan struct{}, 1)}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // a bot is not a browser and has no origin
		OnPingReceived: func(context.Context, []byte) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return !k.stalled
		},
	})
	s.Locked(func() {
		call.Done, call.Status, call.Effect = time.Now(), http.StatusSwitchingProtocols, err == nil
		s.Counted.ByStatus[call.Status]++
	})
	if err != nil {
		return
	}
	conn.SetReadLimit(maxAck)
	s.runSocket(r, conn, k, cut)
}

// takeTicket removes the ticket of a request, because a ticket is valid only once. takeTicket returns an error response
// if the request has no valid ticket, or nil.
func (s *Server) takeTicket(r *http.Request) *rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.URL.Query().Get("ticket")
	t, ok := s.tickets[id]
	delete(s.tickets, id)
	if ok && time.Now().Before(t.until) {
		return nil
	}
	return new(rig.Text(http.StatusNotFound, "ticket is unknown, used or too old"))
}

// runSocket serves a socket until either side ends it.
func (s *Server) runSocket(r *http.Request, conn *websocket.Conn, k *socket, cut <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	k.cancel = cancel
	life := s.opts.SocketLife
	if r.URL.Query().Get("debug_reconnects") == "true" {
		life = debugSocketLifetime
	}
	s.register(k, life)
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		s.writeSocket(ctx, conn, k, life, cut)
	})
	work.Go(func() {
		defer cancel()
		s.pingSocket(ctx, conn, k)
	})
	s.readSocket(ctx, conn, k)
	cancel()
	_ = conn.CloseNow() // an error means that the connection was already closed
	work.Wait()
	s.unregister(k)
}

func (s *Server) register(k *socket, life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Opened++
	k.id = s.stats.Opened
	if len(s.sockets) >= maxSockets {
		k.put(frame{reason: reasonTooMany})
		return
	}
	s.sockets = append(s.sockets, k)
	k.put(frame{data: rig.Encode(object{
		"type": "hello", "num_connections": len(s.sockets), "connection_info": object{"app_id": AppID},
		"debug_info": object{
			"host": "applink-standin-" + strconv.Itoa(k.id), "build_number": 1, "started": s.started.UTC().Format(time.DateTime),
			"approximate_connection_time": int(life.Seconds()),
		},
	})})
	s.Publish("socket", Event{Sockets: len(s.sockets)})
}

func (s *Server) unregister(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = slices.DeleteFunc(slices.Clone(s.sockets), func(other *socket) bool { return other == k })
	s.Publish("socket", Event{Sockets: len(s.sockets)})
}

// readSocket reads acknowledgements until the connection ends.
func (s *Server) readSocket(ctx context.Context, conn *websocket.Conn, k *socket) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		s.acknowledge(k, data)
	}
}

// acknowledge handles a message from the client, which should acknowledge an envelope.
func (s *Server) acknowledge(k *socket, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.stalled {
		return
	}
	var ack struct {
		Envelope string          `json:"envelope_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	err := json.Unmarshal(data, &ack)
	o := s.envelopes[ack.Envelope]
	switch {
	case err != nil || ack.Envelope == "":
		s.recordViolation(BadAck, "", "", "what came over the socket is no acknowledgement")
	case o == nil || o.socket != k:
		s.recordViolation(BadAck, "", "", "envelope "+ack.Envelope+" was not sent over this socket, or is acknowledged already")
	case o.late:
		delete(s.envelopes, o.id)
		s.recordViolation(LateAck, "", "", fmt.Sprintf("envelope %s was acknowledged after more than %v", o.id, ackTimeout))
	default:
		delete(s.envelopes, o.id)
		o.acked <- ack.Payload
	}
}

// writeSocket sends the messages in the socket's queue. After the time that the parameter life gives, writeSocket asks
// the client to reconnect.
func (s *Server) writeSocket(ctx context.Context, conn *websocket.Conn, k *socket, life time.Duration, cut <-chan struct{}) {
	warn, refresh := time.NewTimer(max(0, life-warnTime)), time.NewTimer(life)
	defer warn.Stop()
	defer refresh.Stop()
	for {
		var frames []frame
		s.Locked(func() {
			frames, k.out = k.out, nil
			if k.stalled {
				frames = nil
			}
		})
		for _, f := range frames {
			if f.reason != "" && f.grace == 0 {
				s.closeSocket(ctx, conn, k, f.reason)
				return
			}
			data := f.data
			if f.reason != "" {
				data = disconnect(k, f.reason)
				refresh.Reset(f.grace)
			}
			if !writeFrame(ctx, conn, data) {
				return
			}
		}
		select {
		case <-k.wake:
		case <-warn.C:
			s.Locked(func() { k.put(frame{reason: ReasonWarning, grace: min(warnTime, life)}) })
		case <-refresh.C:
			s.Locked(func() { k.put(frame{reason: ReasonRefresh}) })
		case <-cut:
			return
		case <-ctx.Done():
			return
		}
	}
}

func disconnect(k *socket, reason string) []byte {
	return rig.Encode(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-standin-" + strconv.Itoa(k.id)}})
}

// closeSocket asks the client to disconnect, and closes the socket with a normal close frame.
func (s *Server) closeSocket(ctx context.Context, conn *websocket.Conn, k *socket, reason string) {
	s.unregister(k) // from now on, no message is queued for the socket
	if writeFrame(ctx, conn, disconnect(k, reason)) {
		_ = conn.Close(websocket.StatusNormalClosure, "") // an error is expected if the client has closed the socket first
	}
}

func writeFrame(ctx context.Context, conn *websocket.Conn, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data) == nil
}

// pingSocket sends pings. pingSocket returns when the client does not respond to a ping in time.
func (s *Server) pingSocket(ctx context.Context, conn *websocket.Conn, k *socket) {
	for wait(ctx, pingEvery) {
		stalled := false
		s.Locked(func() { stalled = k.stalled })
		if stalled {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, pongTimeout)
		err := conn.Ping(limited)
		cancel()
		if err != nil {
			return
		}
	}
}

// queueEnvelope queues an envelope for the next socket in turn. queueEnvelope returns nil if the app has no socket. The
// caller holds s.mu.
func (s *Server) queueEnvelope(p *pendingDelivery, retry int, reason string) *envelope {
	if len(s.sockets) == 0 {
		s.recordAttempt(p, Attempt{Retry: retry, Reason: reason, Failed: "connection_failed"})
		return nil
	}
	s.nextSocket++
	k := s.sockets[s.nextSocket%len(s.sockets)]
	o := &envelope{id: s.uuid(), socket: k, acked: make(chan json.RawMessage, 1)}
	s.envelopes[o.id] = o
	envelope := object{"envelope_id": o.id, "type": p.envelope, "payload": p.payload, "accepts_response_payload": p.answerable}
	if p.Kind == kindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = retry, reason
	}
	k.put(frame{data: rig.Encode(envelope)})
	s.recordAttempt(p, Attempt{Via: "socket", Envelope: o.id, Socket: k.id, Retry: retry, Reason: reason})
	return o
}

// waitForAck waits until the app acknowledges an envelope, but not longer than ackTimeout.
func (s *Server) waitForAck(ctx context.Context, p *pendingDelivery, o *envelope) outcome {
	timer := time.NewTimer(ackTimeout)
	defer timer.Stop()
	select {
	case payload := <-o.acked:
		return outcome{acked: true, answer: payload}
	case <-timer.C:
		s.Locked(func() { o.late = true })
		select {
		case payload := <-o.acked: // the acknowledgement arrived at the moment of the timeout
			return outcome{acked: true, answer: payload}
		default:
			return s.recordFailure(p, "timeout")
		}
	case <-ctx.Done():
	}
	return outcome{failed: "closed", stop: true}
}

// Disconnect asks the clients of all sockets to disconnect. With a grace period, Disconnect sends a warning now and
// refreshes the sockets after the period, as Slack does every few hours. Without a grace period, Disconnect sends the
// reason and closes the sockets.
func (s *Server) Disconnect(reason string, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.put(frame{reason: cmp.Or(reason, ReasonRefresh), grace: grace})
	}
}

// CutSockets closes every socket without a close frame. CutSockets returns the number of sockets that it has closed.
func (s *Server) CutSockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.sockets)
	for _, k := range s.sockets {
		k.cancel()
	}
	s.sockets = nil
	return n
}

// StallSockets makes every socket half-open: the server transmits nothing any more, not even pings, and only the client
// can notice this. StallSockets returns the number of sockets that it has stalled.
func (s *Server) StallSockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.stalled = true
	}
	return len(s.sockets)
}

// Sockets returns the number of open sockets.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}
