package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"telex/agent"
	"telex/gateway/attachment"
	"telex/gateway/history"
	"telex/internal/chat"
)

// What is read of the attachments of one question. Everything else gets a sentence.
const (
	mostAttached   = 10               // attachments
	mostFetched    = 20 << 20         // bytes of one; what Telegram hands out at most
	mostFetchedAll = 32 << 20         // bytes of all
	mostAttachText = 48 << 10         // bytes of one text file that the model is shown
	fetchTime      = 20 * time.Second // for one
	fetchTimeAll   = 40 * time.Second // for all: whoever writes meanwhile waits for it
	mostHeavy      = 4                // questions whose attachments are in memory at a time
)

// A picture takes up to 200 MB while it is made smaller, so that happens to one at a time.
const mostShrinking = 1

// attached says whether anything came with the messages.
func attached(messages []chat.Inbound) bool {
	for _, m := range messages {
		if len(m.Attachments) > 0 {
			return true
		}
	}
	return false
}

// question collects what messages say and hold.
type question struct {
	texts   []string
	images  []agent.Image
	notes   []string       // to the model, about what it is not shown
	sources []agent.Source // of all these
	failed  []string       // names of what could not be read, for the person
	unheard bool           // something was spoken, and there is nothing to transcribe it with
	bytes   int64
}

// read turns messages into a question for the model, or when nothing in them can be read, into a
// line for the person. It fetches what is attached, within limits of number, size and time; one
// attachment that fails is told of and does not keep the rest from being answered.
func (a *actor) read(ctx context.Context, messages []chat.Inbound) (agent.Message, string) {
	var q question
	if attached(messages) {
		select {
		case a.g.heavy <- struct{}{}:
			defer func() { <-a.g.heavy }()
		case <-ctx.Done():
			return agent.Message{}, ""
		}
	}
	fetching, cancel := context.WithTimeout(ctx, fetchTimeAll)
	defer cancel()
	n := 0
	for _, m := range messages {
		if m.Text != "" {
			text, source := history.Words(a.person(m), m)
			q.texts, q.sources = append(q.texts, text), append(q.sources, source)
		}
		for _, at := range m.Attachments {
			if n++; n > mostAttached {
				continue
			}
			if err := a.readOne(fetching, &q, at, m.Origin); err != nil && ctx.Err() == nil {
				a.log.Info("attachment was not read", slog.String("type", at.MediaType), slog.Int64("size", at.Size), slog.Any("error", err))
			}
		}
	}
	if n > mostAttached {
		q.sources = append(q.sources, agent.Source{Origin: agent.OriginProgram})
		q.notes = append(q.notes, fmt.Sprintf("[%d more were attached, which you are not shown: only the first %d are]", n-mostAttached, mostAttached))
	}
	return q.message(a.g.Texts)
}

// message is the question as the model gets it, or the line that the person gets instead.
func (q *question) message(t Texts) (agent.Message, string) {
	if len(q.texts) == 0 && len(q.images) == 0 {
		switch {
		case q.unheard && len(q.failed) == 1:
			return agent.Message{}, t[TextNoVoice]
		case len(q.failed) > 0:
			return agent.Message{}, t.fill(TextUnreadable, "files", strings.Join(q.failed, ", "))
		default:
			return agent.Message{}, t[TextUnsupported]
		}
	}
	text := strings.Join(append(q.texts, q.notes...), "\n\n")
	return agent.Message{Role: agent.User, Text: text, Images: q.images, Sources: q.sources}, ""
}

// readOne adds one attachment to the question.
func (a *actor) readOne(ctx context.Context, q *question, at chat.Attachment, from chat.Origin) error {
	if at.ID == "" || a.endpoint.fetcher == nil {
		q.skip(at, "this kind can't be read here")
		return errors.New("nothing to fetch")
	}
	limit := min(mostFetched, mostFetchedAll-q.bytes)
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	data, err := a.endpoint.fetcher.Fetch(ctx, at, limit)
	switch {
	case errors.Is(err, chat.ErrTooLarge):
		q.skip(at, "it is too large")
		return err
	case err != nil:
		q.skip(at, "it could not be fetched")
		return err
	}
	q.bytes += int64(len(data))
	switch attachment.KindOf(at, data) {
	case attachment.Image:
		return q.addImage(ctx, a.g.shrinking, at, data)
	case attachment.Audio:
		return q.addSpeech(ctx, a.g.Hear, at, data, from)
	case attachment.Text:
		return q.addText(at, data)
	default:
		q.skip(at, "this kind of file can't be read here")
		return errors.New("not a kind that can be read")
	}
}

func (q *question) addImage(ctx context.Context, turn chan struct{}, at chat.Attachment, data []byte) error {
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p, err := attachment.Shrink(ctx, data)
	if err != nil {
		q.skip(at, "it is no picture that can be read")
		return err
	}
	q.images = append(q.images, agent.Image{MediaType: p.MediaType, Data: p.Data})
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginPicture})
	return nil
}

func (q *question) addSpeech(ctx context.Context, hear Transcriber, at chat.Attachment, data []byte, from chat.Origin) error {
	if hear == nil {
		q.unheard = true
		q.skip(at, "it can't be listened to here")
		return errors.New("no transcription is configured")
	}
	text, err := hear.Transcribe(ctx, at.Name, data)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = errors.New("nothing was said in it")
	}
	if err != nil {
		q.skip(at, "it could not be transcribed")
		return err
	}
	if from != chat.Typed { // else the sender may have said it
		text = history.Frame("forwarded voice message", "", text)
	}
	q.texts, q.sources = append(q.texts, text), append(q.sources, agent.Source{Origin: agent.OriginSpeech})
	return nil
}

func (q *question) addText(at chat.Attachment, data []byte) error {
	text, cut, err := attachment.Decode(data, mostAttachText)
	if err != nil {
		q.skip(at, "it is no text that can be read")
		return err
	}
	end := ""
	if cut {
		end = fmt.Sprintf("\n[the file goes on; its first %d bytes are shown]", mostAttachText)
	}
	q.texts = append(q.texts, history.Frame("file", name(at), text+end))
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginFile})
	return nil
}

// skip says that an attachment is not shown to the model, and why.
func (q *question) skip(at chat.Attachment, why string) {
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginFile}) // its sender named it
	q.notes = append(q.notes, fmt.Sprintf("[attached: %s, which you are not shown: %s]", name(at), why))
	q.failed = append(q.failed, name(at)+" ("+why+")")
}

// name is what an attachment is called, in one line. The sender chose it: it must not end the brackets that it stands in.
func name(at chat.Attachment) string {
	for _, s := range []string{at.Name, at.MediaType} {
		if s = strings.Join(strings.Fields(strings.NewReplacer("[", "(", "]", ")").Replace(s)), " "); s != "" {
			return shortened(s)
		}
	}
	return "a file"
}

// mostName bounds a file's name, in characters.
const mostName = 80

func shortened(s string) string {
	if r := []rune(s); len(r) > mostName {
		return string(r[:mostName]) + "…"
	}
	return s
}
