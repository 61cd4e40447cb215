package discord

import (
	"encoding/json"
	"slices"
	"time"

	"telex/standin/quota"
	"telex/standin/rig"
)

// Gateway intents.
// Source: https://docs.discord.com/developers/events/gateway#list-of-intents
const (
	intentNone            = 0 // for events that all sessions receive
	intentGuilds          = 1 << 0
	intentMembers         = 1 << 1
	intentPresences       = 1 << 8
	intentGuildMessages   = 1 << 9
	intentDirectMessages  = 1 << 12
	intentMessageContent  = 1 << 15
	allIntents            = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
	identifyInterval      = 5 * time.Second // https://docs.discord.com/developers/events/gateway#rate-limiting
	maxReplay             = 1000            // number of events that a session keeps for a resume; Discord publishes no number
	gatewaySends          = 120             // number of payloads that a client may send per gatewayPeriod
	gatewayPeriod         = time.Minute
	maxGatewayPayload     = 4096 // maximum size of a client's payload in bytes
	heartbeatGrace        = 1.5  // the server closes a connection after this many intervals without a heartbeat
	compressFrom          = 1024 // minimum size in bytes of a payload that is compressed
	opDispatch            = 0
	opHeartbeat           = 1
	opIdentify            = 2
	opPresence            = 3
	opVoice               = 4
	opResume              = 6
	opReconnect           = 7
	opRequestMembers      = 8
	opInvalidSession      = 9
	opHello               = 10
	opHeartbeatACK        = 11
	opRequestSoundboard   = 31
	opRequestChannelInfo  = 43
	closeUnknown          = 4000
	closeUnknownOpcode    = 4001
	closeDecode           = 4002
	closeNotAuthenticated = 4003
	closeAuthentication   = 4004
	closeAlready          = 4005
	closeSeq              = 4007
	closeRateLimited      = 4008
	closeTimedOut         = 4009
	closeShard            = 4010
	closeVersion          = 4012
	closeIntents          = 4013
	closeDisallowed       = 4014
)

// session is an identified client of the gateway. A session continues when its connection ends, so that a client can
// resume the session. Server.mu guards a session.
type session struct {
	id      string
	intents int
	seq     int64
	events  []pastEvent // the newest maxReplay events
	socket  *socket     // nil while disconnected
	until   time.Time   // when a session without a connection ends
}

type pastEvent struct {
	seq  int64
	data []byte
}

type wireEvent struct {
	Op   int             `json:"op"`
	Type *string         `json:"t"`
	Seq  *int64          `json:"s"`
	Data json.RawMessage `json:"d"`
}

// payloadOf returns a payload that the gateway sends and that is not an event.
func payloadOf(op int, d any) []byte { return rig.Encode(wireEvent{Op: op, Data: rig.Encode(d)}) }

// send sends an event to the session's client, now or when the client resumes the session.
func (n *session) send(name string, data json.RawMessage) {
	n.seq++
	seq := n.seq
	e := pastEvent{seq: seq, data: rig.Encode(wireEvent{Op: opDispatch, Type: &name, Seq: &seq, Data: data})}
	n.events = append(n.events, e)
	if len(n.events) > maxReplay {
		n.events = slices.Clone(n.events[len(n.events)-maxReplay:])
	}
	if n.socket != nil {
		n.socket.push(e.data)
	}
}

// isAlive reports whether the session has a connection or may still be resumed.
func (n *session) isAlive(now time.Time) bool { return n.socket != nil || now.Before(n.until) }

// hasIntent reports whether the session receives events of an intent.
func (n *session) hasIntent(intent int) bool { return intent == intentNone || n.intents&intent != 0 }

// liveSessions returns the sessions that have not ended.
func (s *Server) liveSessions() []*session {
	now := time.Now()
	s.sessions = slices.DeleteFunc(s.sessions, func(n *session) bool { return !n.isAlive(now) })
	return s.sessions
}

// dispatch sends an event to all sessions that have requested the intent. If there is no session, the event is lost, as
// on Discord.
func (s *Server) dispatch(intent int, name string, data any) {
	var encoded json.RawMessage
	for _, n := range s.liveSessions() {
		if !n.hasIntent(intent) {
			continue
		}
		if encoded == nil {
			encoded = rig.Encode(data)
		}
		n.send(name, encoded)
	}
}

// dispatchTo sends an event about a channel like dispatch, but only if the bot sees the channel.
func (s *Server) dispatchTo(c *channel, intent int, name string, data any) {
	if !s.access(c).Hidden {
		s.dispatch(intent, name, data)
	}
}

func messageIntent(c *channel) int {
	if c.info.Type == DM {
		return intentDirectMessages
	}
	return intentGuildMessages
}

// dispatchMessage sends an event about a message to all sessions. A session that may not see the message's text
// receives the message without its text.
func (s *Server) dispatchMessage(c *channel, name string, m *Message) {
	if m.OnlyFor != "" || s.access(c).Hidden {
		return
	}
	for _, n := range s.liveSessions() {
		if n.hasIntent(messageIntent(c)) {
			n.send(name, rig.Encode(s.gatewayMessage(c, m, n.intents&intentMessageContent != 0)))
		}
	}
}

// isReadable reports whether the bot may see a message's text without the privileged intent. Source:
// https://docs.discord.com/developers/events/gateway#message-content-intent
func (s *Server) isReadable(m *Message) bool {
	return m.FromBot || m.Guild == "" || slices.Contains(m.mentions, s.me.ID)
}

// getGateway answers GET /gateway.
func (s *Server) getGateway(*request) any {
	return map[string]string{"url": s.gatewayURL()}
}

func (s *Server) gatewayURL() string { return "ws" + s.base[len("http"):] + "/" }

// resumePath is the path of the WebSocket address at which clients should resume sessions.
const resumePath = "/resume/"

func (s *Server) resumeURL() string { return "ws" + s.base[len("http"):] + resumePath }

// getGatewayBot answers GET /gateway/bot.
func (s *Server) getGatewayBot(r *request) any {
	total, left, resets := 0, 0, time.Duration(0)
	if w, ok := s.limiter.scope(bucketSessions, "").Published().(*quota.Fixed); ok {
		total = w.Size
		left, resets = w.Left(r.now)
	}
	return map[string]any{
		"url": s.gatewayURL(), "shards": 1,
		"session_start_limit": map[string]any{
			"total": total, "remaining": left, "reset_after": resets.Milliseconds(), "max_concurrency": 1,
		},
	}
}
