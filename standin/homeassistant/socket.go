package homeassistant

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"telex/standin/rig"
)

// Properties of Home Assistant's WebSocket. Sources: homeassistant/components/websocket_api/http.py and const.py.
const (
	// pingEvery is the interval of the server's pings. pongTimeout is how long the server waits for the response to
	// a ping.
	pingEvery   = 55 * time.Second
	pongTimeout = 27500 * time.Millisecond
	// The server closes a socket if more than maxPending messages wait for the client, or if more than peakPending messages
	// wait for longer than peakTime.
	maxPending  = 16384
	peakPending = 1024
	peakTime    = 5 * time.Second
	// maxFrame is the maximum size of a client's message in bytes.
	maxFrame = 4 << 20
)

// allEvents subscribes to events of all types.
const allEvents = "*"

// subscription is an event subscription of a socket. The server sends each event with the id of the subscription.
type subscription struct {
	id    int64
	event string
}

// outgoing is a message for a client. The server closes the channel "written" when it has sent the message, or when it
// can no longer send the message.
type outgoing struct {
	data    []byte
	written chan struct{}
}

// socket is one open WebSocket connection. Server.mu guards the fields of a socket, except the last three.
type socket struct {
	out           []outgoing
	wake          chan struct{} // signals that one of the fields below changed; capacity 1
	peak          time.Time     // since when more than peakPending messages wait for the client, or zero
	stalled       bool          // the connection is half-open: nothing is transmitted, and only the client can notice this
	ending        bool          // close the socket with a close frame once all messages are written
	coalesce      bool          // the client accepts several messages in one frame, as an array
	subscriptions []subscription
	cancel        context.CancelFunc

	// Only commands use the following three fields. Commands begin one after the other, so the fields need no lock.
	authenticated bool
	last          int64 // the id of the last command
	commands      int
}

// put queues a message. put returns a channel that is closed when the server has sent the message. The caller holds
// s.mu of the Server.
func (k *socket) put(data []byte) <-chan struct{} {
	o := outgoing{data: data, written: make(chan struct{})}
	k.out = append(k.out, o)
	k.signal()
	return o.written
}

// end closes the socket with a close frame once all queued messages are written.
func (k *socket) end() {
	k.ending = true
	k.signal()
}

func (k *socket) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// serveSocket opens a socket and serves it until it ends.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	call := &Call{Call: rig.Call{At: time.Now(), Method: openMethod}, Via: viaSocket}
	if !s.Admit(w, r, call, cut, s.opts.Latency, func() *rig.Answer {
		if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			return new(statusAnswer(http.StatusBadRequest))
		}
		return nil
	}) {
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
	conn.SetReadLimit(maxFrame)
	s.runSocket(r.Context(), conn, k, cut)
}

// runSocket serves a socket until either side ends it.
func (s *Server) runSocket(ctx context.Context, conn *websocket.Conn, k *socket, cut <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var writer, work sync.WaitGroup
	s.Locked(func() {
		k.cancel = cancel
		s.stats.Opened++
		s.sockets = append(s.sockets, k)
		k.put(rig.Encode(object{"type": "auth_required", "ha_version": Version}))
		s.Publish("socket", Event{Sockets: len(s.sockets)})
	})
	writer.Go(func() {
		defer cancel()
		s.writeSocket(ctx, conn, k, cut)
	})
	work.Go(func() {
		s.pingSocket(ctx, conn, k)
		cancel()
	})
	s.readSocket(ctx, conn, k, &work, cut)
	s.Locked(k.end)
	writer.Wait()
	_ = conn.CloseNow() // an error means that the connection was already closed
	s.unregister(k)
	work.Wait()
}

func (s *Server) unregister(k *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = slices.DeleteFunc(slices.Clone(s.sockets), func(other *socket) bool { return other == k })
	k.subscriptions = nil
	s.Publish("socket", Event{Sockets: len(s.sockets)})
}

// readSocket handles the client's messages until the connection ends. Commands begin in the order of their arrival. A
// command that Home Assistant runs as a task does not delay later commands.
func (s *Server) readSocket(ctx context.Context, conn *websocket.Conn, k *socket, work *sync.WaitGroup, cut <-chan struct{}) {
	previous := make(chan struct{})
	close(previous)
	after := func(run func(begun func())) {
		before, next := previous, make(chan struct{})
		previous = next
		work.Go(func() {
			<-before
			begun := sync.OnceFunc(func() { close(next) })
			defer begun()
			if ctx.Err() == nil {
				run(begun)
			}
		})
	}
	data, ok := s.readFirst(ctx, conn)
	if !ok {
		return
	}
	arrived := time.Now()
	after(func(func()) { s.authenticate(ctx, k, data, arrived, cut) })
	for {
		kind, data, err := conn.Read(ctx)
		switch {
		case err != nil:
			return
		case s.isStalled(k):
			continue
		case kind != websocket.MessageText:
			s.Locked(func() { s.recordViolation(BadFormat, "", "a binary frame") })
			continue
		}
		commands, err := parseFrame(data)
		if err != nil {
			s.Locked(func() { s.recordViolation(BadFormat, "", "frame: "+err.Error()) })
			return
		}
		arrived := time.Now()
		for _, c := range commands {
			after(func(begun func()) { s.command(ctx, k, c, arrived, begun, cut) })
		}
	}
}

// command runs a command. command calls the function begun when the next command of the socket may begin.
func (s *Server) command(ctx context.Context, k *socket, c command, arrived time.Time, begun func(), cut <-chan struct{}) {
	if !k.authenticated {
		return
	}
	p := s.prepare(k, c, arrived)
	if p.task {
		begun()
	}
	s.exchange(ctx, k, p.call, cut, p.refused, p.do)
}

func (s *Server) isStalled(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.stalled
}

// exchange answers a command. A new subscription takes effect when the answer is queued, so that no event arrives
// before the answer.
func (s *Server) exchange(ctx context.Context, k *socket, call *Call, cut <-chan struct{}, refused *rig.Answer, run func() rig.Answer) {
	s.Exchange(ctx, call, cut, refused, run, func(a rig.Answer) {
		if a.Status == rig.Gone {
			s.Locked(func() { s.cutSocket(k) })
			return
		}
		var written <-chan struct{}
		s.Locked(func() {
			written = k.put(a.Body)
			if call.subscribes != nil {
				k.subscriptions = append(k.subscriptions, *call.subscribes)
			}
			s.checkPending(k)
		})
		select {
		case <-written:
		case <-ctx.Done():
		}
	})
}

// checkPending closes a socket if too many messages wait because the client reads too slowly. The caller holds s.mu.
func (s *Server) checkPending(k *socket) {
	n := len(k.out)
	switch {
	case n < peakPending:
		k.peak = time.Time{}
		return
	case k.peak.IsZero():
		k.peak = time.Now()
	}
	if n >= maxPending || time.Since(k.peak) > peakTime {
		s.recordViolation(SlowReader, "", "too many messages wait for the client")
		s.cutSocket(k)
	}
}

// cutSocket ends a socket without a close frame. The caller holds s.mu.
func (s *Server) cutSocket(k *socket) {
	s.sockets = slices.DeleteFunc(slices.Clone(s.sockets), func(other *socket) bool { return other == k })
	k.cancel()
}

// writeSocket sends the messages in the socket's queue.
func (s *Server) writeSocket(ctx context.Context, conn *websocket.Conn, k *socket, cut <-chan struct{}) {
	for {
		var list []outgoing
		var stalled, ending bool
		s.Locked(func() {
			list = k.take()
			stalled, ending = k.stalled, k.ending
		})
		switch {
		case len(list) > 0:
			if !stalled && conn.Write(ctx, websocket.MessageText, join(list)) != nil {
				return
			}
			for _, o := range list {
				close(o.written)
			}
			continue
		case ending:
			_ = conn.Close(websocket.StatusNormalClosure, "") // an error is expected if the client has closed the socket first
			return
		}
		select {
		case <-k.wake:
		case <-cut:
			return
		case <-ctx.Done():
			return
		}
	}
}

// take removes the messages for the next frame from the queue: one message, or all messages if the client accepts
// arrays. If a fault has made a message invalid JSON, take returns one message at a time, because the invalid message
// would make a whole array invalid. The caller holds the Server's mutex.
func (k *socket) take() []outgoing {
	n := min(1, len(k.out))
	if k.coalesce && !slices.ContainsFunc(k.out, func(o outgoing) bool { return !json.Valid(o.data) }) {
		n = len(k.out)
	}
	list := k.out[:n:n]
	k.out = k.out[n:]
	return list
}

// join returns a frame that contains the messages: a single message as it is, or several messages as an array.
func join(list []outgoing) []byte {
	if len(list) == 1 {
		return list[0].data
	}
	var data [][]byte
	for _, o := range list {
		data = append(data, o.data)
	}
	return slices.Concat([]byte("["), bytes.Join(data, []byte(",")), []byte("]"))
}

// pingSocket sends pings. pingSocket returns when the client does not respond to a ping in time.
func (s *Server) pingSocket(ctx context.Context, conn *websocket.Conn, k *socket) {
	timer := time.NewTicker(pingEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if s.isStalled(k) {
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

// endSockets closes every socket normally. The caller holds s.mu.
func (s *Server) endSockets() {
	for _, k := range s.sockets {
		k.end()
	}
}

// CutSockets closes every socket without a close frame. CutSockets returns the number of sockets that it has closed.
func (s *Server) CutSockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.sockets)
	for _, k := range s.sockets {
		s.cutSocket(k)
	}
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

// Subscriptions returns the number of event subscriptions of the open sockets.
func (s *Server) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.sockets {
		n += len(k.subscriptions)
	}
	return n
}
