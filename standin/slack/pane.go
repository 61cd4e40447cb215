package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// People talk with the app in its pane. The pane of an assistant (assistant_view) has separate threads. The pane of an
// agent (agent_view) is its Messages tab. Source: https://docs.slack.dev/ai/developing-agents and
// https://docs.slack.dev/ai/migrating-to-agent-messaging

// Prompts are questions that the app suggested.
// Source: https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
type Prompts struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"` // when other prompts replaced these, or a person wrote a message
	Thread string    `json:"thread_ts,omitempty"`
	Title  string    `json:"title,omitempty"`
	List   []Prompt  `json:"prompts"`
}

// Prompt is one suggested question.
type Prompt struct {
	Title   string `json:"title"`
	Message string `json:"message"`
}

// Statuses of a session. Source: https://docs.slack.dev/ai/agent-sessions
const (
	SessionActive     = "active"
	SessionProcessing = "processing"
)

const (
	// maxPrompts is the maximum number of suggested prompts. Slack's documentation says "up to four suggested
	// prompts".
	maxPrompts = 4
	// maxTitle is the maximum length of a session's title. Slack uses the title of the thread as the title of the
	// session. Source: https://docs.slack.dev/reference/methods/agents.sessions.rename
	maxTitle = 200
	// statusLifetime is how long clients show a status if the app neither changes it nor posts a message. Source:
	// https://docs.slack.dev/reference/methods/assistant.threads.setStatus
	statusLifetime = 2 * time.Minute
	// maxLoading is the maximum number of loading_messages, which alternate in a status.
	maxLoading = 10

	subtypeAssistant = "assistant_app_thread"
)

// OpenAssistant lets a person start a new thread with the app, which is an assistant. OpenAssistant returns the
// thread_ts. Source: https://docs.slack.dev/reference/events/assistant_thread_started
func (s *Server) OpenAssistant(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	user = cmp.Or(user, DefaultUser)
	c := s.channelFor(imOf(user))
	root := &Message{User: BotUser, BotID: BotID, FromBot: true, Subtype: subtypeAssistant}
	s.add(c, root, s.complete(Version{Method: "person", Text: "New Assistant Thread"}))
	s.sendAssistantEvent(c, "assistant_thread_started", user, root.TS, "")
	return root.TS
}

// MoveAssistant lets a person view another channel while an assistant's thread is open beside it. Source:
// https://docs.slack.dev/reference/events/assistant_thread_context_changed
func (s *Server) MoveAssistant(user, thread, channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	user = cmp.Or(user, DefaultUser)
	c := s.channels[imOf(user)]
	if !c.isAssistant(thread) {
		return false
	}
	s.sendAssistantEvent(c, "assistant_thread_context_changed", user, thread, channel)
	return true
}

func (s *Server) sendAssistantEvent(c *channel, name, user, thread, viewed string) {
	context := object{"team_id": TeamID, "enterprise_id": nil}
	if viewed != "" {
		context["channel_id"] = viewed
	}
	s.deliverEvent(c, name, object{
		"type": name, "event_ts": s.nextTS(),
		"assistant_thread": object{"user_id": user, "channel_id": c.info.ID, "thread_ts": thread, "context": context},
	})
}

// isAssistant reports whether a thread was started by OpenAssistant.
func (c *channel) isAssistant(thread string) bool {
	root := c.message(thread)
	return root != nil && root.Subtype == subtypeAssistant
}

// OpenHome lets a person open the Messages tab of the app. Source:
// https://docs.slack.dev/reference/events/app_home_opened
func (s *Server) OpenHome(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user = cmp.Or(user, DefaultUser)
	c := s.channelFor(imOf(user))
	s.deliverEvent(c, "app_home_opened", object{
		"type": "app_home_opened", "user": user, "channel": c.info.ID, "tab": "messages", "event_ts": s.nextTS(),
	})
}

// PressPrompt lets a person press a suggested prompt, which sends the prompt's message in the thread. If thread is "",
// the message is outside of threads. PressPrompt returns the message's ts, or "" if Slack shows no such prompt.
func (s *Server) PressPrompt(user, thread, title string) string {
	user = cmp.Or(user, DefaultUser)
	message := ""
	s.Locked(func() {
		if c := s.channels[imOf(user)]; c != nil {
			message = c.prompt(thread, title)
		}
	})
	if message == "" {
		return ""
	}
	return s.Say(Incoming{User: user, Text: message, Thread: thread})
}

// prompt returns the message of the prompt with this title, or "" if the thread shows no such prompt.
func (c *channel) prompt(thread, title string) string {
	for _, p := range c.prompts {
		i := slices.IndexFunc(p.List, func(one Prompt) bool { return one.Title == title })
		if p.Thread == thread && p.To.IsZero() && i >= 0 {
			return p.List[i].Message
		}
	}
	return ""
}

// endPrompts removes the suggested prompts of a thread.
func (c *channel) endPrompts(thread string) {
	for i := range c.prompts {
		if p := &c.prompts[i]; p.Thread == thread && p.To.IsZero() {
			p.To = time.Now()
		}
	}
}

// StopSession lets a person press the stop button of a session, which Slack shows while the app works. StopSession ends
// the streams in the session. The session keeps its status until the app changes this status. StopSession returns false
// if Slack shows no stop button. Source: https://docs.slack.dev/reference/events/agent_session_stopped
func (s *Server) StopSession(channel, user, thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil || c.sessions[thread] != SessionProcessing || !slices.Contains(s.opts.Subscriptions, "agent_session_stopped") {
		return false
	}
	stopped := []string{}
	for _, m := range c.messages {
		m.expire(time.Now())
		if m.Thread() != thread || m.StreamEnds.IsZero() {
			continue
		}
		v := m.Last()
		v.At, v.Method, v.Streaming = time.Now(), "person", false
		m.StreamEnds, m.stopped = time.Time{}, true
		s.change(c, m, v)
		stopped = append(stopped, m.TS)
	}
	s.deliverEvent(c, "agent_session_stopped", object{
		"type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": cmp.Or(user, c.info.User, DefaultUser),
		"streaming_message_ts": stopped, "event_ts": s.nextTS(),
	})
	return true
}

// threadOf returns the channel and the thread that a call about the pane names.
func (s *Server) threadOf(r *request) (*channel, string) {
	c := s.writableChannel(r, "channel_id")
	ts := r.text("thread_ts")
	m := c.byTS[ts]
	failIf(!validTS(ts) || m == nil, "invalid_thread_ts")
	return c, m.Thread()
}

// setStatus implements https://docs.slack.dev/reference/methods/assistant.threads.setStatus.
func (s *Server) setStatus(r *request, c *channel, thread string) any {
	var loading []string
	text := r.text("loading_messages")
	failIf(text != "" && (json.Unmarshal([]byte(text), &loading) != nil || len(loading) > maxLoading), "invalid_arguments")
	s.endStatus(c, thread)
	c.sessions[thread] = SessionActive
	if text := r.text("status"); text != "" {
		st := Status{From: r.now, To: r.now.Add(statusLifetime), Text: text, Thread: thread}
		c.statuses = append(c.statuses, st)
		c.sessions[thread] = SessionProcessing
		s.Publish("status", Event{Channel: c.info.ID, Status: &st})
	}
	return object{}
}

// endStatus removes a thread's status.
func (s *Server) endStatus(c *channel, thread string) {
	now := time.Now()
	for i := range c.statuses {
		if st := &c.statuses[i]; st.Thread == thread && st.To.After(now) {
			st.To = now
		}
	}
}

// setTitle implements https://docs.slack.dev/reference/methods/assistant.threads.setTitle.
func (s *Server) setTitle(r *request, c *channel, thread string) any {
	title := r.text("title")
	failIf(c.info.Kind != KindIM, "channel_type_not_supported")
	failIf(!s.opts.Agent && !c.isAssistant(thread), "invalid_thread_ts")
	failIf(strings.TrimSpace(title) == "" || units(title) > maxTitle, "invalid_arguments")
	c.titles[thread] = title
	if root := c.message(thread); root != nil && root.Subtype == subtypeAssistant { // the text of the thread's first message is the title
		v := root.Last()
		v.At, v.Method, v.Text = r.now, r.call.Method, title
		s.change(c, root, s.complete(v))
	}
	return object{}
}

// setPrompts implements https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts.
func (s *Server) setPrompts(r *request) any {
	c := s.writableChannel(r, "channel_id")
	failIf(c.info.Kind != KindIM, "channel_type_not_supported")
	p := Prompts{From: r.now, Title: r.text("title"), Thread: r.text("thread_ts")}
	failIf(json.Unmarshal([]byte(r.text("prompts")), &p.List) != nil || len(p.List) == 0 || len(p.List) > maxPrompts, "invalid_arguments")
	failIf(slices.ContainsFunc(p.List, func(one Prompt) bool { return one.Title == "" || one.Message == "" }), "invalid_arguments")
	switch {
	case s.opts.Agent && p.Thread != "": // Slack's documentation: "will cause the call to silently fail"
		return object{}
	case s.opts.Agent:
	case p.Thread == "": // without a thread, the prompts are for the latest thread
		for _, m := range c.messages {
			if c.isAssistant(m.TS) {
				p.Thread = m.TS
			}
		}
		failIf(p.Thread == "", "message_not_found")
	default:
		failIf(!c.isAssistant(p.Thread), "invalid_thread_ts")
	}
	c.endPrompts(p.Thread)
	c.prompts = append(c.prompts, p)
	s.Publish("prompts", Event{Channel: c.info.ID, Prompts: &p})
	return object{}
}
