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

// Facts of Socket Mode, https://docs.slack.dev/apis/events-api/using-socket-mode
const (
	// maxSockets are open at once for one app.
	maxSockets = 10
	// ticketLife is how long a URL of apps.connections.open may wait to be used.
	ticketLife = 30 * time.Second
	// socketLife is when a socket is refreshed, as the documentation's example names it;
	// debugLife is that of one opened with debug_reconnects=true.
	socketLife = 18_060 * time.Second
	debugLife  = 360 * time.Second
	// warnTime is how long before its refresh a socket is warned.
	warnTime = 10 * time.Second
	// pingEvery is how often the server pings, pongTime how long it waits for the answer.
	pingEvery = 10 * time.Second
	pongTime  = 10 * time.Second
	// writeTime is how long a client may take to read one envelope.
	writeTime = 10 * time.Second
	// maxAck is the largest message of a client, in bytes.
	maxAck = 1 << 20
)

// Reasons for a disconnect.
const (
	ReasonWarning      = "warning"
	ReasonRefresh      = "refresh_requested"
	ReasonLinkDisabled = "link_disabled"
	reasonTooMany      = "too_many_websockets"
)

// ticket is a URL that opens one socket.
type ticket struct{ until time.Time }

// socket is one open connection. Its fields are guarded by Server.mu.
type socket struct {
	id      int
	out     []frame
	wake    chan struct{} // capacity 1: a sign that out changed.
	stalled bool          // half-open: nothing gets through, and nobody notices.
	cancel  context.CancelFunc
}

// frame is a message for a socket, or an order to disconnect.
type frame struct {
	data   []byte
	reason string
	grace  time.Duration // until the refresh that a warning announces.
}

func (k *socket) put(f frame) {
	k.out = append(k.out, f)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// offer is an envelope that waits for its acknowledgement.
type offer struct {
	id     string
	socket *socket
	acked  chan json.RawMessage // capacity 1.
	late   bool                 // its time is over.
}

// openConnection: https://docs.slack.dev/reference/methods/apps.connections.open
func (s *Server) openConnection(r *request) any {
	failIf(s.requestURL != "", "socket_mode_disabled")
	id := s.uuid()
	s.tickets[id] = ticket{until: r.now.Add(ticketLife)}
	base := scheme(r.http, "ws") + r.http.Host
	return object{"url": base + "/link/?ticket=" + id + "&app_id=" + AppID}
}

// serveSocket opens a socket for a ticket and serves it until it ends.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	call := &Call{Call: rig.Call{At: time.Now(), Method: socketMethod}}
	if !s.Admit(w, r, call, cut, s.opts.Latency, func() *rig.Answer { return s.redeem(r) }) {
		return
	}
	k := &socket{wake: make(chan struct{}, 1)}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // a bot is no browser, and has no origin
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

// redeem takes the ticket of a request, which is valid once; the answer refuses it.
func (s *Server) redeem(r *http.Request) *rig.Answer {
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

// runSocket serves a socket until it ends, by either side.
func (s *Server) runSocket(r *http.Request, conn *websocket.Conn, k *socket, cut <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	k.cancel = cancel
	life := s.opts.SocketLife
	if r.URL.Query().Get("debug_reconnects") == "true" {
		life = debugLife
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
	_ = conn.CloseNow() // an error means that it was closed before
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

// readSocket takes acknowledgements until the connection ends.
func (s *Server) readSocket(ctx context.Context, conn *websocket.Conn, k *socket) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		s.acknowledge(k, data)
	}
}

// acknowledge takes what a client sent.
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
	o := s.offers[ack.Envelope]
	switch {
	case err != nil || ack.Envelope == "":
		s.violate(BadAck, "", "", "what came over the socket is no acknowledgement")
	case o == nil || o.socket != k:
		s.violate(BadAck, "", "", "envelope "+ack.Envelope+" was not sent over this socket, or is acknowledged already")
	case o.late:
		delete(s.offers, o.id)
		s.violate(LateAck, "", "", fmt.Sprintf("envelope %s was acknowledged after more than %v", o.id, ackTime))
	default:
		delete(s.offers, o.id)
		o.acked <- ack.Payload
	}
}

// writeSocket sends what is put into the socket's queue, and refreshes it in time.
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
				s.bye(ctx, conn, k, f.reason)
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

// bye tells the client to disconnect and closes the socket in order.
func (s *Server) bye(ctx context.Context, conn *websocket.Conn, k *socket, reason string) {
	s.unregister(k) // nothing more is put into it
	if writeFrame(ctx, conn, disconnect(k, reason)) {
		_ = conn.Close(websocket.StatusNormalClosure, "") // the client may have closed it first
	}
}

func writeFrame(ctx context.Context, conn *websocket.Conn, data []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data) == nil
}

// pingSocket pings until the client does not answer in time.
func (s *Server) pingSocket(ctx context.Context, conn *websocket.Conn, k *socket) {
	for wait(ctx, pingEvery) {
		stalled := false
		s.Locked(func() { stalled = k.stalled })
		if stalled {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, pongTime)
		err := conn.Ping(limited)
		cancel()
		if err != nil {
			return
		}
	}
}

// offer puts an envelope into the queue of the socket whose turn it is; nil when there
// is none. s.mu is held.
func (s *Server) offer(p *parcel, retry int, reason string) *offer {
	if len(s.sockets) == 0 {
		s.note(p, Attempt{Retry: retry, Reason: reason, Failed: "connection_failed"})
		return nil
	}
	s.turn++
	k := s.sockets[s.turn%len(s.sockets)]
	o := &offer{id: s.uuid(), socket: k, acked: make(chan json.RawMessage, 1)}
	s.offers[o.id] = o
	envelope := object{"envelope_id": o.id, "type": p.envelope, "payload": p.payload, "accepts_response_payload": p.answerable}
	if p.Kind == kindEvent {
		envelope["retry_attempt"], envelope["retry_reason"] = retry, reason
	}
	k.put(frame{data: rig.Encode(envelope)})
	s.note(p, Attempt{Via: "socket", Envelope: o.id, Socket: k.id, Retry: retry, Reason: reason})
	return o
}

// await waits for an envelope's acknowledgement.
func (s *Server) await(ctx context.Context, p *parcel, o *offer) outcome {
	timer := time.NewTimer(ackTime)
	defer timer.Stop()
	select {
	case payload := <-o.acked:
		return outcome{acked: true, answer: payload}
	case <-timer.C:
		s.Locked(func() { o.late = true })
		select {
		case payload := <-o.acked: // it came in the same moment
			return outcome{acked: true, answer: payload}
		default:
			return s.failed(p, "timeout")
		}
	case <-ctx.Done():
	}
	return outcome{failed: "closed", stop: true}
}

// Disconnect asks every socket to go. With a grace they are warned now and refreshed
// after it, as the platform does every few hours; without one they get the reason and
// are closed.
func (s *Server) Disconnect(reason string, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.put(frame{reason: cmp.Or(reason, ReasonRefresh), grace: grace})
	}
}

// CutSockets breaks every socket off without a word. It returns how many.
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

// StallSockets makes every socket half-open: nothing gets through any more, pings
// neither, and only the client can notice. It returns how many.
func (s *Server) StallSockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.stalled = true
	}
	return len(s.sockets)
}

// Sockets is how many sockets are open.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}
