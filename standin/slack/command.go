package slack

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

// Properties of response URLs. Source: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
const (
	responseUses     = 5
	responseLifetime = 30 * time.Minute
)

// CommandRun is one use of a slash command or of a button, and its result.
type CommandRun struct {
	ID      int       `json:"id"`
	At      time.Time `json:"at"`
	Channel string    `json:"channel"`
	User    string    `json:"user"`
	// Command and Text are set if a person used a slash command. Action and TS are set if a person pressed a
	// button.
	Command string `json:"command,omitempty"`
	Text    string `json:"text,omitempty"`
	Action  string `json:"action_id,omitempty"`
	TS      string `json:"ts,omitempty"`
	// ResponseURL is the URL that the app received.
	ResponseURL string    `json:"response_url"`
	Acked       time.Time `json:"acked,omitzero"`
	// Failed is the error that the person read if the app did not acknowledge in time.
	Failed string `json:"failed,omitempty"`
}

// responseURL describes where Slack shows the messages that the app sends to a response URL.
type responseURL struct {
	channel, user, ts string // ts of the message whose button was pressed
	until             time.Time
	uses              int
}

// Commands returns a copy of all uses of slash commands and buttons.
func (s *Server) Commands() []CommandRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]CommandRun, len(s.commands))
	for i, c := range s.commands {
		list[i] = *c
	}
	return list
}

// Command uses a slash command such as "/ask" with a text as a person. Slack offers no slash commands in threads.
// Command returns the ID of the CommandRun, or 0 if the channel is archived. Source:
// https://docs.slack.dev/interactivity/implementing-slash-commands
func (s *Server) Command(channel, user, command, text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel = cmp.Or(channel, imOf(cmp.Or(user, DefaultUser)))
	c := s.channelFor(channel)
	if c.info.Archived || s.revoked {
		return 0
	}
	user = cmp.Or(user, cmp.Or(c.info.User, DefaultUser))
	c.join(user)
	run := s.startRun(&CommandRun{Channel: channel, User: s.userFor(user).ID, Command: command, Text: text}, "")
	name := c.info.Name
	if c.info.Kind == KindIM {
		name = "directmessage"
	}
	s.startDelivery(&pendingDelivery{
		Delivery: &Delivery{Kind: kindCommand, Type: command, Channel: channel},
		envelope: "slash_commands", answerable: true,
		payload: object{
			"token": verificationToken, "team_id": TeamID, "team_domain": teamDomain, "channel_id": channel, "channel_name": name,
			"user_id": user, "user_name": s.users[user].Name, "command": command, "text": text, "api_app_id": AppID,
			"is_enterprise_install": "false", "response_url": run.ResponseURL, "trigger_id": s.nextID("trigger."),
		},
		done: func(answer json.RawMessage, failed string) { s.finishRun(c, run, answer, failed) },
	})
	return run.ID
}

// Press presses a button of a message as a person. button is the button's action_id, value or text. Press returns the
// ID of the CommandRun, or 0 if the message has no such button. Source:
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
func (s *Server) Press(channel, user, ts, button string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c.message(ts) == nil || s.revoked {
		return 0
	}
	m := c.byTS[ts]
	v := m.Last()
	i := slices.IndexFunc(v.Buttons, func(b Button) bool { return button == b.ActionID || button == b.Value || button == b.Text })
	if i < 0 {
		return 0
	}
	b := v.Buttons[i]
	user = cmp.Or(user, cmp.Or(c.info.User, DefaultUser))
	u := s.userFor(user)
	run := s.startRun(&CommandRun{Channel: channel, User: user, Action: b.ActionID, TS: ts}, ts)
	action := object{
		"type": "button", "action_id": b.ActionID, "block_id": b.BlockID, "value": b.Value, "action_ts": s.nextTS(),
		"text": object{"type": "plain_text", "text": b.Text, "emoji": true},
	}
	if b.Style != "" {
		action["style"] = b.Style
	}
	container := object{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": m.EphemeralTo != ""}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	s.startDelivery(&pendingDelivery{
		Delivery: &Delivery{Kind: kindAction, Type: b.ActionID, Channel: channel, TS: ts},
		envelope: "interactive",
		payload: object{
			"type": "block_actions", "token": verificationToken, "api_app_id": AppID, "trigger_id": s.nextID("trigger."),
			"team": object{"id": TeamID, "domain": teamDomain}, "enterprise": nil, "is_enterprise_install": false,
			"user":    object{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": TeamID},
			"channel": object{"id": channel, "name": cmp.Or(c.info.Name, "directmessage")}, "container": container,
			"message": s.wire(c, m), "state": object{"values": object{}}, "response_url": run.ResponseURL,
			"actions": []object{action},
		},
		done: func(_ json.RawMessage, failed string) { s.finishRun(c, run, nil, failed) },
	})
	return run.ID
}

// startRun records the use of a command or button, and creates the response URL for it.
func (s *Server) startRun(run *CommandRun, ts string) *CommandRun {
	run.ID, run.At = len(s.commands)+1, time.Now()
	key := s.uuid()
	run.ResponseURL = s.base + respondPath + key
	s.responses[key] = &responseURL{channel: run.Channel, user: run.User, ts: ts, until: run.At.Add(responseLifetime)}
	s.commands = append(s.commands, run)
	s.Publish("command", Event{Channel: run.Channel, Command: run})
	return run
}

// finishRun shows the person the app's answer, or an error if the app did not acknowledge the command.
func (s *Server) finishRun(c *channel, run *CommandRun, answer json.RawMessage, failed string) {
	switch {
	case failed == "timeout", failed == "http_timeout":
		run.Failed = "operation_timeout"
	case failed != "":
		run.Failed = "dispatch_failed"
	default:
		run.Acked = time.Now()
	}
	reply, ok := readReply(answer)
	if reply.Type == "in_channel" && run.Command != "" {
		// Source: https://docs.slack.dev/interactivity/implementing-slash-commands#responding_immediate_response
		s.show(c, &Message{User: run.User}, s.complete(Version{Method: "person", Text: normalize(strings.TrimSpace(run.Command + " " + run.Text))}))
	}
	if ok {
		s.reply(c, run.User, reply)
	}
	if run.Failed != "" && run.Command != "" {
		s.reply(c, run.User, commandReply{Text: run.Command + " failed with the error \"" + run.Failed + "\""})
	}
	s.Publish("command", Event{Channel: run.Channel, Command: run})
}

// commandReply is a message with which the app answers a command.
type commandReply struct {
	Text    string          `json:"text"`
	Type    string          `json:"response_type"` // in_channel or ephemeral; empty: ephemeral
	Replace bool            `json:"replace_original"`
	Delete  bool            `json:"delete_original"`
	Thread  string          `json:"thread_ts"`
	Blocks  json.RawMessage `json:"blocks"`
	parsed  parsedBlocks
}

// readReply decodes the content of an acknowledgement, which is JSON. Over HTTP, the content may also be plain text.
func readReply(data json.RawMessage) (commandReply, bool) {
	var r commandReply
	if err := json.Unmarshal(data, &r); err != nil {
		r = commandReply{Text: strings.TrimSpace(string(data))}
	}
	return r, r.Text != "" || len(r.Blocks) > 0
}

// reply posts the app's answer to a command.
func (s *Server) reply(c *channel, user string, r commandReply) {
	m := &Message{User: BotUser, BotID: BotID, FromBot: true, ThreadTS: r.Thread}
	if r.Type != "in_channel" {
		m.EphemeralTo = user
	}
	s.add(c, m, s.newVersion(time.Now(), Version{}, r.content(), respondMethod))
	s.stats.Messages++
}

func (r *commandReply) content() content {
	return content{text: r.Text, hasText: r.Text != "", hasBlocks: len(r.Blocks) > 0, blocks: r.parsed.list, parsed: r.parsed}
}

// useResponse posts a message that the app sent to a response URL. A response URL works at most five times, within half
// an hour.
func (s *Server) useResponse(r *request) any {
	to := s.responses[strings.TrimPrefix(r.http.URL.Path, respondPath)]
	rig.RefuseIf(to == nil || r.now.After(to.until), &apiError{status: http.StatusNotFound, code: "expired_url"})
	rig.RefuseIf(to.uses == responseUses, &apiError{status: http.StatusNotFound, code: "used_url"})
	reply := commandReply{
		Text: r.text("text"), Type: r.text("response_type"), Thread: r.text("thread_ts"),
		Replace: r.flag("replace_original"), Delete: r.flag("delete_original"), Blocks: json.RawMessage(r.text("blocks")),
	}
	if len(reply.Blocks) > 0 {
		reply.parsed = s.readBlocks(string(reply.Blocks))
	}
	c := s.channels[to.channel]
	original := c.message(to.ts)
	rig.RefuseIf((reply.Delete || reply.Replace) && original == nil, &apiError{status: http.StatusNotFound, code: "message_not_found"})
	failIf(!reply.Delete && reply.Text == "" && len(reply.Blocks) == 0, "no_text")
	switch {
	case reply.Delete:
		s.remove(c, original, "bot")
	case reply.Replace:
		s.change(c, original, s.newVersion(r.now, original.Last(), reply.content(), respondMethod))
	default:
		s.reply(c, to.user, reply)
	}
	to.uses++
	r.call.Channel = to.channel
	return rig.Text(http.StatusOK, "ok")
}
