package discord

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"telex/standin/host"
	"telex/standin/quota"
	"telex/standin/rig"
)

// socket is a connection to the gateway. Server.mu guards the fields of a socket, except those that only the goroutine
// of the connection uses.
type socket struct {
	raw       net.Conn
	ws        *websocket.Conn
	resumable bool // the client used the URL for resumes

	session       *session // nil before Identify or Resume.
	out           [][]byte
	wake          chan struct{} // signals that the field out, ending or lastHeartbeat changed; capacity 1
	silent        bool          // the server sends nothing more to the client (GatewayZombie)
	ending        *closing
	lastHeartbeat time.Time   // time of the last heartbeat, or of the start of the connection
	sent          quota.Meter // counts the payloads from the client
	ended         bool        // further payloads of the client are ignored

	compress bool // the client asked to compress payloads of at least compressFrom bytes
	stream   *zlib.Writer
	streamed bytes.Buffer
}

// closing describes how the server closes a connection.
type closing struct {
	code   int
	reason string
}

// push queues a payload. The caller holds s.mu.
func (k *socket) push(data []byte) {
	if k.silent || k.ended {
		return
	}
	k.out = append(k.out, data)
	k.signal()
}

// end closes the connection after the queued payloads are written. The caller holds s.mu.
func (k *socket) end(code int, reason string) {
	if k.ending == nil {
		k.ending, k.ended = &closing{code, reason}, true
		k.signal()
	}
}

func (k *socket) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// serveGateway serves one connection until it ends.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	call := &Call{Call: rig.Call{At: time.Now(), Method: "gateway"}, Request: r.Method + " " + r.URL.Path}
	if !s.Admit(w, r, call, cut, 0, func() *rig.Answer { return nil }) {
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.opts.Log.Debug("accept gateway", slog.Any("error", err))
		return
	}
	ws.SetReadLimit(1 << 20) // the limit exceeds maxGatewayPayload, so that handlers can close the connection with the right code
	k := &socket{
		raw: host.Conn(r), ws: ws, resumable: strings.HasPrefix(r.URL.Path, resumePath), wake: make(chan struct{}, 1),
		lastHeartbeat: time.Now(), sent: quota.NewFixed(gatewaySends, gatewayPeriod),
	}
	if r.URL.Query().Get("compress") == "zlib-stream" {
		k.stream = zlib.NewWriter(&k.streamed)
	}
	s.mu.Lock()
	call.Done, call.Status, call.Effect = time.Now(), http.StatusSwitchingProtocols, true
	select {
	case <-cut: // the connection was cut while the server accepted it
		s.mu.Unlock()
		_ = ws.CloseNow()
		return
	default:
	}
	s.sockets[k] = struct{}{}
	switch {
	case r.URL.Query().Get("v") != "" && r.URL.Query().Get("v") != "10" && r.URL.Query().Get("v") != "9":
		k.end(closeVersion, "Invalid API version.")
	case r.URL.Query().Get("encoding") != "" && r.URL.Query().Get("encoding") != "json":
		k.end(closeDecode, "Only JSON is spoken here.")
	case s.mute > 0:
		s.mute--
	default:
		k.push(payloadOf(opHello, map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds(), "_trace": []string{"standin"}}))
	}
	s.mu.Unlock()
	s.runConnection(r.Context(), k)
}

// runConnection reads and writes until the connection ends.
func (s *Server) runConnection(ctx context.Context, k *socket) {
	var readers sync.WaitGroup
	ended := make(chan int, 1) // receives the client's close code, or -1 if there is none
	readers.Go(func() {
		for {
			_, data, err := k.ws.Read(ctx)
			if err != nil {
				ended <- int(websocket.CloseStatus(err))
				return
			}
			s.Locked(func() { s.receive(k, data) })
		}
	})
	code := s.write(ctx, k, ended)
	if err := k.ws.CloseNow(); err != nil {
		s.opts.Log.Debug("close gateway", slog.Any("error", err))
	}
	readers.Wait()
	s.Locked(func() { s.removeConnection(k, code) })
}

// write sends queued payloads and checks the heartbeats. write returns the client's close code.
func (s *Server) write(ctx context.Context, k *socket, ended <-chan int) int {
	grace := time.Duration(float64(s.opts.Heartbeat) * heartbeatGrace)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		s.mu.Lock()
		queue, ending := k.out, k.ending
		k.out = nil
		timer.Reset(time.Until(k.lastHeartbeat.Add(grace)))
		s.mu.Unlock()
		for _, data := range queue {
			kind, data := k.pack(data)
			if err := k.ws.Write(ctx, kind, data); err != nil {
				s.opts.Log.Debug("write gateway", slog.Any("error", err))
				return <-ended
			}
		}
		if ending != nil {
			if err := k.ws.Close(websocket.StatusCode(ending.code), ending.reason); err != nil {
				s.opts.Log.Debug("close gateway", slog.Any("error", err))
			}
			return -1
		}
		select {
		case <-k.wake:
		case code := <-ended:
			return code
		case <-timer.C:
			s.Locked(func() {
				if time.Since(k.lastHeartbeat) >= grace && !k.silent {
					s.closeForViolation(k, &gatewayViolation{closeTimedOut, "no heartbeat"})
				}
				k.lastHeartbeat = time.Now()
			})
		}
	}
}

// pack compresses a payload if the client requested it.
func (k *socket) pack(data []byte) (websocket.MessageType, []byte) {
	if k.stream == nil && (!k.compress || len(data) < compressFrom) {
		return websocket.MessageText, data
	}
	if k.stream != nil { // all payloads of the connection are one zlib stream, with a sync flush after each payload
		k.streamed.Reset()
		_, _ = k.stream.Write(data) // writing to a buffer can't fail
		_ = k.stream.Flush()
		return websocket.MessageBinary, bytes.Clone(k.streamed.Bytes())
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return websocket.MessageBinary, b.Bytes()
}

// removeConnection removes a connection. A client can resume the session of the connection within Options.ResumeWindow.
// If the client closed the connection with a code that ends the session, the session ends at once. Source:
// https://docs.discord.com/developers/events/gateway#disconnecting
func (s *Server) removeConnection(k *socket, code int) {
	delete(s.sockets, k)
	wait := s.opts.ResumeWindow
	if code == int(websocket.StatusNormalClosure) || code == int(websocket.StatusGoingAway) {
		wait = 0
	}
	s.detach(k, wait)
	s.Publish("gateway", Event{Gateway: "closed"})
}

// detach separates a connection from its session, if the session still uses this connection. After detach, the session
// collects events until a client resumes the session, but for no longer than the duration wait. The caller holds s.mu.
func (s *Server) detach(k *socket, wait time.Duration) {
	k.ended = true
	if n := k.session; n != nil && n.socket == k {
		n.socket, n.until = nil, time.Now().Add(wait)
	}
}

// detachAll separates all connections from their sessions and returns the connections. The caller holds s.mu.
func (s *Server) detachAll() []net.Conn {
	var conns []net.Conn
	for k := range s.sockets {
		s.detach(k, s.opts.ResumeWindow)
		conns = append(conns, k.raw)
	}
	return conns
}

// gatewayViolation is an error of a client for which Discord closes the connection to the gateway. To close a
// connection because of a violation, a payload's handler panics with a gatewayViolation; see package rig.
type gatewayViolation struct {
	code   int
	detail string // text that is added to the close reason
}

// reason returns the text that Discord sends when it closes a connection because of the violation.
func (b *gatewayViolation) reason() string {
	return map[int]string{
		closeUnknownOpcode: "Unknown opcode.", closeDecode: "Error while decoding payload.", closeNotAuthenticated: "Not authenticated.",
		closeAuthentication: "Authentication failed.", closeAlready: "Already authenticated.", closeSeq: "Invalid seq.",
		closeRateLimited: "Rate limited.", closeTimedOut: "Session timed out.", closeShard: "Invalid shard.",
		closeIntents: "Invalid intent(s).", closeDisallowed: "Disallowed intent(s).",
	}[b.code]
}

// closeForViolation closes a connection because of a violation. If the violation is a missing heartbeat, the session
// ends as well.
func (s *Server) closeForViolation(k *socket, b *gatewayViolation) {
	s.recordViolation(time.Now(), BadGateway, nil, fmt.Sprintf("%d: %s", b.code, cmp.Or(b.detail, b.reason())))
	if n := k.session; n != nil && n.socket == k && b.code == closeTimedOut {
		n.socket, n.until = nil, time.Time{}
	}
	k.end(b.code, b.reason())
}

// receive handles a WebSocket message from a client. The caller holds s.mu.
func (s *Server) receive(k *socket, data []byte) {
	if k.ended {
		return
	}
	if _, wrong := rig.Run[gatewayViolation](func() any { s.handlePayload(k, data, time.Now()); return nil }); wrong != nil {
		s.closeForViolation(k, wrong)
	}
}

// handlePayload handles a payload from a client according to its opcode.
func (s *Server) handlePayload(k *socket, data []byte, now time.Time) {
	rig.RefuseIf(k.sent.Wait(now) > 0, &gatewayViolation{code: closeRateLimited})
	k.sent.Take(now)
	var p struct {
		Op *int            `json:"op"`
		D  json.RawMessage `json:"d"`
	}
	rig.RefuseIf(len(data) > maxGatewayPayload || json.Unmarshal(data, &p) != nil || p.Op == nil, &gatewayViolation{code: closeDecode})
	switch *p.Op {
	case opHeartbeat:
		s.stats.Heartbeats++
		k.lastHeartbeat = now
		k.push(payloadOf(opHeartbeatACK, nil))
		k.signal()
	case opIdentify:
		s.identify(k, p.D, now)
	case opResume:
		s.resume(k, p.D, now)
	case opPresence, opVoice, opRequestMembers, opRequestSoundboard, opRequestChannelInfo:
		rig.RefuseIf(k.session == nil, &gatewayViolation{code: closeNotAuthenticated})
	default:
		panic(&gatewayViolation{code: closeUnknownOpcode})
	}
}

// identify handles the opcode Identify: it starts a session.
func (s *Server) identify(k *socket, data json.RawMessage, now time.Time) {
	var d struct {
		Token      string          `json:"token"`
		Intents    *int            `json:"intents"`
		Compress   bool            `json:"compress"`
		Shard      []int           `json:"shard"`
		Properties json.RawMessage `json:"properties"`
	}
	starts := s.limiter.scope(bucketSessions, "")
	full, _ := starts.Wait(now)
	rig.RefuseIf(k.session != nil, &gatewayViolation{code: closeAlready})
	rig.RefuseIf(json.Unmarshal(data, &d) != nil || d.Intents == nil || len(d.Properties) == 0,
		&gatewayViolation{closeDecode, "identify needs token, intents and properties"})
	rig.RefuseIf(strings.TrimPrefix(d.Token, "Bot ") != s.opts.Token, &gatewayViolation{code: closeAuthentication})
	rig.RefuseIf(d.Shard != nil && (len(d.Shard) != 2 || d.Shard[0] < 0 || d.Shard[0] >= d.Shard[1]), &gatewayViolation{code: closeShard})
	rig.RefuseIf(*d.Intents < 0 || *d.Intents&^allIntents != 0, &gatewayViolation{code: closeIntents})
	rig.RefuseIf(*d.Intents&(intentMembers|intentPresences) != 0 || *d.Intents&intentMessageContent != 0 && !s.opts.MessageContent,
		&gatewayViolation{code: closeDisallowed})
	rig.RefuseIf(full > 0, &gatewayViolation{closeAuthentication, "too many identifies: the platform resets the token"})
	if now.Sub(s.lastIdentify) < identifyInterval {
		k.push(payloadOf(opInvalidSession, false))
		return
	}
	starts.Take(now)
	s.lastIdentify = now
	s.stats.Identifies++
	k.compress = d.Compress
	s.sendReady(k, &session{id: bucketHash(s.ids.next(now)), intents: *d.Intents, socket: k})
}

// sendReady sends the first events of a new session.
func (s *Server) sendReady(k *socket, n *session) {
	k.session = n
	s.sessions = append(s.sessions, n)
	guilds := []map[string]any{}
	for _, g := range s.guildList {
		if g.member {
			guilds = append(guilds, map[string]any{"id": g.id, "unavailable": true})
		}
	}
	n.send("READY", rig.Encode(map[string]any{
		"v": 10, "user": s.me, "guilds": guilds, "session_id": n.id, "session_type": "normal",
		"resume_gateway_url": s.resumeURL(), "application": map[string]any{"id": s.me.ID, "flags": 0},
		"private_channels": []any{}, "relationships": []any{}, "user_settings": map[string]any{}, "_trace": []string{"standin"},
	}))
	for _, g := range s.guildList {
		if g.member && n.hasIntent(intentGuilds) {
			n.send("GUILD_CREATE", rig.Encode(s.wireGuild(g)))
		}
	}
	s.Publish("gateway", Event{Gateway: "identified"})
}

// resume handles the opcode Resume: it continues a session and sends the missed events in order.
func (s *Server) resume(k *socket, data json.RawMessage, now time.Time) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}
	rig.RefuseIf(k.session != nil, &gatewayViolation{code: closeAlready})
	rig.RefuseIf(json.Unmarshal(data, &d) != nil, &gatewayViolation{code: closeDecode})
	rig.RefuseIf(strings.TrimPrefix(d.Token, "Bot ") != s.opts.Token, &gatewayViolation{code: closeAuthentication})
	var n *session
	if i := slices.IndexFunc(s.liveSessions(), func(n *session) bool { return n.id == d.Session }); i >= 0 {
		n = s.sessions[i]
	}
	rig.RefuseIf(n != nil && s.refusals == 0 && (d.Seq > n.seq || d.Seq < 0), &gatewayViolation{code: closeSeq})
	if n == nil || s.refusals > 0 || d.Seq < n.seq-int64(len(n.events)) { // the last condition: the session no longer holds all missed events
		if n != nil {
			s.refusals = max(0, s.refusals-1)
			n.end(closeUnknown)
		}
		s.stats.RefusedResumes++
		k.push(payloadOf(opInvalidSession, false))
		return
	}
	if n.socket != nil { // the old connection is half-open: the server has not noticed its end
		n.socket.end(closeUnknown, "Session resumed elsewhere.")
	}
	n.socket, k.session = k, n
	s.stats.Resumes++
	if !k.resumable {
		s.stats.ResumesElsewhere++
	}
	for _, e := range n.events {
		if e.seq > d.Seq {
			s.stats.Replayed++
			k.push(e.data)
		}
	}
	n.send("RESUMED", rig.Encode(map[string]any{"_trace": []string{"standin"}}))
	s.Publish("gateway", Event{Gateway: "resumed"})
}

// end ends a session and closes its connection with the close code.
func (n *session) end(code int) {
	if n.socket != nil {
		n.socket.end(code, "Session ended.")
		n.socket.session = nil
	}
	n.socket, n.until = nil, time.Time{}
}
