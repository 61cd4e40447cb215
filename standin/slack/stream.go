package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"telex/standin/rig"
)

// streamLifetime is how long a message may stream. Slack's documentation does not state this time:
// https://github.com/slackapi/python-slack-sdk/issues/1859.
const streamLifetime = 5 * time.Minute

// Task is a step of the app's work that a stream shows.
type Task struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Status  string `json:"status"` // pending, in_progress, complete or error
	Details string `json:"details,omitempty"`
	Output  string `json:"output,omitempty"`
}

// chunk is one piece of a stream.
// Source: https://docs.slack.dev/reference/methods/chat.appendStream
type chunk struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Task
	Blocks json.RawMessage `json:"blocks"`
}

// streamAddition is the content that a call adds to a stream.
type streamAddition struct {
	markdown string
	tasks    []Task
	blocks   parsedBlocks
}

func (g streamAddition) empty() bool {
	return g.markdown == "" && len(g.tasks) == 0 && len(g.blocks.list) == 0
}

// readAddition reads the arguments markdown_text and chunks.
func (s *Server) readAddition(r *request) streamAddition {
	g := streamAddition{markdown: r.text("markdown_text")}
	failIf(units(g.markdown) > maxMarkdown, "msg_too_long")
	text := r.text("chunks")
	if text == "" {
		return g
	}
	var list []chunk
	failIf(json.Unmarshal([]byte(text), &list) != nil, "invalid_chunks")
	for _, c := range list {
		switch c.Type {
		case "markdown_text":
			failIf(units(c.Text) > maxMarkdown, "msg_too_long")
			g.markdown += c.Text
		case "task_update":
			failIf(c.ID == "" || c.Title == "" || !slices.Contains([]string{"pending", "in_progress", "complete", "error"}, c.Status), "invalid_chunks")
			g.tasks = append(g.tasks, c.Task)
		case "plan_update":
			failIf(c.Title == "", "invalid_chunks")
		case "blocks":
			g.blocks = s.readBlocks(string(c.Blocks))
		default:
			panic(fail("invalid_chunks"))
		}
	}
	return g
}

// extended returns the next version of a streaming message: the previous version with the addition g.
func (s *Server) extended(now time.Time, before Version, g streamAddition, method string) Version {
	v := before
	v.At, v.Method = now, method
	v.Markdown += g.markdown
	v.Text = v.Markdown
	v.Tasks = slices.Clone(v.Tasks)
	for _, task := range g.tasks {
		if i := slices.IndexFunc(v.Tasks, func(t Task) bool { return t.ID == task.ID }); i >= 0 {
			v.Tasks[i] = task
		} else {
			v.Tasks = append(v.Tasks, task)
		}
	}
	if g.blocks.list != nil {
		v.blocks, v.Blocks, v.Buttons = g.blocks, rig.Encode(g.blocks.list), g.blocks.buttons
	}
	failIf(units(v.Markdown)+v.blocks.total > maxTotal, "msg_blocks_too_long")
	return s.complete(v)
}

// startStream implements https://docs.slack.dev/reference/methods/chat.startStream.
func (s *Server) startStream(r *request, c *channel) any {
	thread := s.thread(c, r)
	direct, recipient := c.info.Kind == KindIM, r.text("recipient_user_id")
	failIf(thread == "", "invalid_thread_ts") // thread_ts is optional only in channels that are a single session
	failIf(!direct && recipient == "", "missing_recipient_user_id")
	failIf(!direct && r.text("recipient_team_id") == "", "missing_recipient_team_id")
	failIf(recipient != "" && !s.isPerson(recipient), "user_not_found")
	failIf(!direct && r.text("recipient_team_id") != cmp.Or(s.users[recipient].Team, TeamID), "team_not_found")
	g := s.readAddition(r)
	v := s.extended(r.now, Version{Streaming: true, previewsOff: previewsOff(r)}, g, r.call.Method)
	m := &Message{
		ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true,
		StreamEnds: r.now.Add(s.opts.StreamLife),
	}
	s.add(c, m, v)
	r.call.TS = m.TS
	c.sessions[thread] = SessionProcessing
	s.stats.Streams++
	return object{"channel": c.info.ID, "ts": m.TS}
}

// streamingMessage returns the message whose stream a call continues. streamingMessage refuses the call if the message
// is not the bot's own or is not streaming.
func (s *Server) streamingMessage(r *request) (*channel, *Message) {
	c := s.writableChannel(r, "channel")
	m := s.ownMessage(c, r, "message_not_owned_by_app")
	failIf(m.stopped && r.call.Method == "chat.appendStream", "stopped_by_user")
	failIf(m.StreamEnds.IsZero(), "message_not_in_streaming_state")
	return c, m
}

// appendStream implements https://docs.slack.dev/reference/methods/chat.appendStream.
func (s *Server) appendStream(r *request, c *channel, m *Message) any {
	g := s.readAddition(r)
	failIf(g.empty(), "no_text")
	v := s.extended(r.now, m.Last(), g, r.call.Method)
	m.Versions = append(m.Versions, v)
	s.Publish("edit", Event{Channel: c.info.ID, Message: m})
	s.stats.Appends++
	return object{"channel": c.info.ID, "ts": m.TS}
}

// stopStream implements https://docs.slack.dev/reference/methods/chat.stopStream.
func (s *Server) stopStream(r *request, c *channel, m *Message) any {
	g := s.readAddition(r)
	var tail content
	tail.readMetadata(r)
	if text := r.text("blocks"); text != "" {
		g.blocks = s.readBlocks(text)
	}
	v := s.extended(r.now, m.Last(), g, r.call.Method)
	failIf(v.Markdown == "" && len(v.Blocks) == 0 && len(v.Tasks) == 0, "no_text")
	v.Streaming = false
	if tail.hasMetadata {
		v.Metadata = tail.metadata
	}
	m.StreamEnds = time.Time{}
	if status := r.text("session_status"); status != "" {
		failIf(!slices.Contains([]string{SessionActive, SessionProcessing, "suspended", "closed"}, status), "invalid_arguments")
		c.sessions[m.Thread()] = status
	} else {
		c.sessions[m.Thread()] = SessionActive
	}
	s.change(c, m, v)
	s.stats.Edits++
	return object{"channel": c.info.ID, "ts": m.TS, "message": s.wire(c, m)}
}
