package slack

import (
	"encoding/json"
	"slices"
	"time"

	"telex/standin/rig"
)

// streamLife is how long a message may stream. It is not documented:
// https://github.com/slackapi/python-slack-sdk/issues/1859.
const streamLife = 5 * time.Minute

// Task is one step that a stream shows.
type Task struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Status  string `json:"status"` // pending, in_progress, complete or error.
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

// growth is what a call adds to a stream.
type growth struct {
	markdown string
	tasks    []Task
	blocks   parsedBlocks
}

func (g growth) empty() bool { return g.markdown == "" && len(g.tasks) == 0 && len(g.blocks.list) == 0 }

// readGrowth reads markdown_text and chunks.
func (s *Server) readGrowth(r *request) (growth, *apiError) {
	g := growth{markdown: r.text("markdown_text")}
	if units(g.markdown) > maxMarkdown {
		return g, fail("msg_too_long")
	}
	text := r.text("chunks")
	if text == "" {
		return g, nil
	}
	var list []chunk
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return g, fail("invalid_chunks")
	}
	for _, c := range list {
		switch c.Type {
		case "markdown_text":
			if units(c.Text) > maxMarkdown {
				return g, fail("msg_too_long")
			}
			g.markdown += c.Text
		case "task_update":
			if c.ID == "" || c.Title == "" || !slices.Contains([]string{"pending", "in_progress", "complete", "error"}, c.Status) {
				return g, fail("invalid_chunks")
			}
			g.tasks = append(g.tasks, c.Task)
		case "plan_update":
			if c.Title == "" {
				return g, fail("invalid_chunks")
			}
		case "blocks":
			parsed, aerr := readBlocks(string(c.Blocks), func() string { return s.nextID("b") })
			if aerr != nil {
				return g, aerr
			}
			g.blocks = parsed
		default:
			return g, fail("invalid_chunks")
		}
	}
	return g, nil
}

// grow is a stream's next version.
func (s *Server) grow(now time.Time, before Version, g growth, method string) (Version, *apiError) {
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
	if units(v.Markdown)+v.blocks.total > maxWhole {
		return v, fail("msg_blocks_too_long")
	}
	return s.settle(v), nil
}

// startStream: https://docs.slack.dev/reference/methods/chat.startStream
func (s *Server) startStream(r *request, c *channel) (any, *apiError) {
	thread, aerr := s.thread(c, r)
	switch {
	case aerr != nil:
		return nil, aerr
	case c.info.Kind == KindIM && thread == "": // only in channels it may be left out.
		return nil, &apiError{code: "invalid_arguments", detail: []string{"[ERROR] missing required field: thread_ts"}}
	case c.info.Kind != KindIM && r.text("recipient_user_id") == "":
		return nil, fail("missing_recipient_user_id")
	case c.info.Kind != KindIM && r.text("recipient_team_id") == "":
		return nil, fail("missing_recipient_team_id")
	case r.text("recipient_user_id") != "" && !s.isPerson(r.text("recipient_user_id")):
		return nil, fail("user_not_found")
	}
	g, aerr := s.readGrowth(r)
	if aerr != nil {
		return nil, aerr
	}
	v, aerr := s.grow(r.now, Version{Streaming: true, noUnfurls: noUnfurls(r)}, g, r.call.Method)
	if aerr != nil {
		return nil, aerr
	}
	m := &Message{
		ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true,
		StreamEnds: r.now.Add(s.opts.StreamLife),
	}
	s.add(c, m, v)
	r.call.TS = m.TS
	s.stats.Streams++
	return object{"channel": c.info.ID, "ts": m.TS}, nil
}

// streaming is the bot's message that a call goes on with.
func (s *Server) streaming(r *request) (*channel, *Message, *apiError) {
	c, aerr := s.writable(r, "channel")
	if aerr != nil {
		return nil, nil, aerr
	}
	m, aerr := s.own(c, r, "message_not_owned_by_app")
	switch {
	case aerr != nil:
		return nil, nil, aerr
	case m.StreamEnds.IsZero():
		return nil, nil, fail("message_not_in_streaming_state")
	}
	return c, m, nil
}

// appendStream: https://docs.slack.dev/reference/methods/chat.appendStream
func (s *Server) appendStream(r *request, c *channel, m *Message) (any, *apiError) {
	g, aerr := s.readGrowth(r)
	switch {
	case aerr != nil:
		return nil, aerr
	case g.empty():
		return nil, fail("no_text")
	}
	v, aerr := s.grow(r.now, m.Last(), g, r.call.Method)
	if aerr != nil {
		return nil, aerr
	}
	m.Versions = append(m.Versions, v)
	s.Publish(Event{Kind: "edit", Channel: c.info.ID, Message: m})
	s.stats.Appends++
	return object{"channel": c.info.ID, "ts": m.TS}, nil
}

// stopStream: https://docs.slack.dev/reference/methods/chat.stopStream
func (s *Server) stopStream(r *request, c *channel, m *Message) (any, *apiError) {
	g, aerr := s.readGrowth(r)
	if aerr != nil {
		return nil, aerr
	}
	var tail content
	if aerr := tail.readMetadata(r); aerr != nil {
		return nil, aerr
	}
	if text := r.text("blocks"); text != "" {
		parsed, aerr := readBlocks(text, func() string { return s.nextID("b") })
		if aerr != nil {
			return nil, aerr
		}
		g.blocks = parsed
	}
	v, aerr := s.grow(r.now, m.Last(), g, r.call.Method)
	switch {
	case aerr != nil:
		return nil, aerr
	case v.Markdown == "" && len(v.Blocks) == 0 && len(v.Tasks) == 0:
		return nil, fail("no_text")
	}
	v.Streaming = false
	if tail.hasMetadata {
		v.Metadata = tail.metadata
	}
	m.StreamEnds = time.Time{}
	s.change(c, m, v)
	s.stats.Edits++
	return object{"channel": c.info.ID, "ts": m.TS, "message": s.wire(c, m)}, nil
}
