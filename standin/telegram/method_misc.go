package telegram

import (
	"strings"
	"time"

	"telex/standin/rig"
)

const (
	// typingLifetime is the maximum time for which clients show a chat action.
	typingLifetime = 5 * time.Second
	// draftLifetime is how long clients show a draft if the bot does not send it again.
	draftLifetime = 30 * time.Second
	// queryLifetime is how long the bot can answer a callback query.
	queryLifetime = 15 * time.Minute
)

const chatActions = "typing upload_photo record_video upload_video record_voice upload_voice upload_document " +
	"choose_sticker find_location record_video_note upload_video_note"

func (s *Server) sendChatAction(r *request, c *chat) any {
	known := false
	for name := range strings.FieldsSeq(chatActions) {
		known = known || name == r.text("action")
	}
	badRequestIf(!known, "wrong parameter action in request")
	thread, _ := threadOf(r, c)
	c.endTyping(r.now, thread)
	p := Period{From: r.now, To: r.now.Add(typingLifetime), Action: r.text("action"), Thread: thread}
	c.typing = append(c.typing, p)
	s.stats.Actions++
	s.Publish("action", Event{Chat: c.info.ID, Action: &p})
	return true
}

// sendMessageDraft shows an ephemeral preview in a private chat. The limits count a draft like a sent message. The next
// draft in the same chat replaces this draft, even if the two drafts have different ids. A draft without a text shows
// the placeholder "Thinking…". Source: https://core.telegram.org/bots/api#sendmessagedraft
func (s *Server) sendMessageDraft(r *request, c *chat) any {
	return s.draft(r, c, func() Draft {
		f := s.content(r, true)
		badRequestIf(textLength(f.text) > maxText, "message is too long")
		return Draft{Text: f.text, Entities: f.entities}
	})
}

// draft shows the draft that the function content returns.
func (s *Server) draft(r *request, c *chat, content func() Draft) any {
	badRequestIf(!c.private(), "TEXTDRAFT_PEER_INVALID")
	id := r.integer("draft_id")
	badRequestIf(id == 0, "draft identifier must be non-zero")
	thread, _ := threadOf(r, c)
	d := content()
	s.charge(r.now, c, r.call)
	c.endDrafts(r.now, thread)
	d.At, d.ID, d.ThreadID = r.now, id, thread
	d.CanStop, d.KeepOnStop, d.Ended = r.flag("can_stop"), r.flag("keep_on_stop"), r.now.Add(draftLifetime)
	c.drafts = append(c.drafts, d)
	s.stats.Drafts++
	s.Publish("draft", Event{Chat: c.info.ID, Draft: &d})
	return true
}

// sendFile sends a file of the kind media. The call either uploads the file or names an existing file by its file_id.
func (s *Server) sendFile(r *request, c *chat, media string) any {
	file, uploaded := r.Files[media]
	if name, ok := strings.CutPrefix(r.text(media), "attach://"); ok {
		file, uploaded = r.Files[name]
	}
	badRequestIf(!uploaded && !r.has(media), "there is no %s in the request", media)
	badRequestIf(uploaded && len(file.Data) == 0, "file must be non-empty")
	rig.RefuseIf(len(file.Data) > maxUpload, tooLarge())
	if media == "photo" && uploaded {
		checkPhoto(file.Data)
	}
	f := s.contentOf(r, "caption", "caption_entities", true)
	badRequestIf(textLength(f.text) > maxCaption, "message caption is too long")
	return s.post(r, c, f, func(m *Message) {
		m.Media, m.File, m.FileSize = media, file.Data, int64(len(file.Data))
		if media == "document" {
			m.FileName = cleanFileName(file.Name)
		}
	})
}

func (s *Server) getChat(r *request) any {
	badRequestIf(!r.has("chat_id"), "chat_id is empty")
	c := s.findChat(strings.TrimSpace(r.text("chat_id")))
	badRequestIf(c == nil, "chat not found")
	return struct {
		Chat
		AccentColorID    int `json:"accent_color_id"`
		MaxReactionCount int `json:"max_reaction_count"`
	}{Chat: c.info, MaxReactionCount: 11}
}

// CallbackAnswer is the bot's answer to a press of a button, as the person saw it.
type CallbackAnswer struct {
	At    time.Time `json:"at"`
	Query string    `json:"query"`
	Text  string    `json:"text,omitempty"`
	Alert bool      `json:"alert,omitempty"`
	URL   string    `json:"url,omitempty"`
}

func (s *Server) answerCallbackQuery(r *request) any {
	id := r.text("callback_query_id")
	asked, ok := s.queries[id]
	badRequestIf(!ok || r.now.Sub(asked) > queryLifetime, "query is too old and response timeout expired or query ID is invalid")
	badRequestIf(textLength(r.text("text")) > 200, "MESSAGE_TOO_LONG")
	delete(s.queries, id)
	a := CallbackAnswer{At: r.now, Query: id, Text: r.text("text"), Alert: r.flag("show_alert"), URL: r.text("url")}
	s.answers = append(s.answers, a)
	s.Publish("answer", Event{Answer: &a})
	return true
}

// CallbackAnswers returns all answers to button presses so far.
func (s *Server) CallbackAnswers() []CallbackAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]CallbackAnswer(nil), s.answers...)
}
