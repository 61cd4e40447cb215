package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// Limits for the attachments of one question. If there are more than maxAttached, the question tells the model only how
// many are missing.
const (
	maxAttached   = 10               // maximum number of attachments that are read
	maxFetched    = 20 << 20         // maximum number of bytes per attachment; Telegram's limit for downloads
	maxFetchedAll = 32 << 20         // maximum number of bytes of all attachments together
	maxText       = 48 << 10         // maximum number of bytes of text from one file
	maxHTML       = 4 << 20          // maximum number of bytes of a web page that are read
	maxFile       = 8 << 20          // maximum size of a file that the model gets unchanged, in bytes
	fetchTime     = 20 * time.Second // timeout per attachment
	fetchTimeAll  = 40 * time.Second // timeout for all attachments; new messages of the conversation wait during this time
	maxHeavy      = 4                // maximum number of questions whose attachments are in memory at the same time
)

// Decoding a picture takes up to 200 MB, and reading a document takes less. Because of this use of memory, only one
// picture or document is decoded at a time.
const maxDecoding = 1

// Fetch returns the content of an attachment, at most limit bytes. If the content is longer than limit, the error wraps
// chat.ErrTooLarge.
type Fetch func(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error)

// Transcriber converts speech to text.
type Transcriber interface {
	Transcribe(ctx context.Context, name string, audio []byte) (string, error)
}

// Reader reads questions and their attachments. A Reader reads only a limited number of questions at the same time.
type Reader struct {
	inMemory *semaphore.Weighted // questions whose attachments are in memory
	decoding *semaphore.Weighted // pictures and documents being decoded
}

// NewReader returns a reader.
func NewReader() *Reader {
	return &Reader{inMemory: semaphore.NewWeighted(maxHeavy), decoding: semaphore.NewWeighted(maxDecoding)}
}

// Question is the content of messages and their attachments.
type Question struct {
	Message agent.Message // the message for the model; empty if nothing could be read
	Failed  []string      // names of unreadable attachments, which the gateway tells the person
	Unheard bool          // there is a voice message and no transcriber
}

// question collects the content of messages and their attachments.
type question struct {
	texts   []string
	images  []agent.Image
	files   []agent.File
	notes   []string       // notes to the model about content that the question does not contain
	sources []agent.Source // where the content of the question comes from
	out     Question       // the result of Read, without its message
	bytes   int64
}

// Any reports whether one of the messages, or a message that one of them quotes, has attachments.
func Any(messages []chat.Inbound) bool {
	return slices.ContainsFunc(messages, func(m chat.Inbound) bool {
		return len(m.Attachments) > 0 || slices.ContainsFunc(m.Quotes, func(q chat.Quote) bool { return len(q.Attachments) > 0 })
	})
}

// Sources are the inputs of a question.
type Sources struct {
	history.Reading
	Messages []chat.Inbound
	Thread   []chat.Quote // earlier messages of the thread
	Fetch    Fetch        // nil: attachments can't be read
	Hear     Transcriber  // nil: voice messages can't be read
	Log      *slog.Logger
}

// Read converts messages into a question for the model. Quoted messages come first. Read downloads the attachments
// within limits of number, size and time. If an attachment can't be read, the question contains a note about it.
func (r *Reader) Read(ctx context.Context, s Sources) Question {
	var q question
	first := chat.Inbound{Quotes: s.Thread}
	if Any(append(slices.Clip(s.Messages), first)) {
		if r.inMemory.Acquire(ctx, 1) != nil {
			return Question{}
		}
		defer r.inMemory.Release(1)
	}
	fetching, cancel := context.WithTimeout(ctx, fetchTimeAll)
	defer cancel()
	// own counts the asker's attachments that may still be read, and others counts those of quoted messages. The asker's
	// attachments take precedence over those of quoted messages.
	own, others, left := maxAttached, maxAttached, 0
	for _, m := range s.Messages {
		others = max(0, others-len(m.Attachments))
	}
	attached := func(list []chat.Attachment, from chat.Origin, room *int) {
		for _, at := range list {
			if *room == 0 {
				left++
				continue
			}
			*room--
			if err := r.readOne(fetching, &q, at, from, s); err != nil && ctx.Err() == nil {
				s.Log.Info("attachment was not read", slog.String("type", at.MediaType), slog.Int64("size", at.Size), slog.Any("error", err))
			}
		}
	}
	q.inFrame(func() {
		for _, quote := range s.Thread {
			attached(quote.Attachments, chat.Forwarded, &others)
		}
	}, func(files string) (string, agent.Source) { return history.Thread(s.Thread, files) })
	for _, m := range s.Messages {
		for _, quote := range m.Quotes {
			q.inFrame(func() { attached(quote.Attachments, chat.Forwarded, &others) },
				func(files string) (string, agent.Source) { return s.Quoted(quote, files) })
		}
		if m.Text != "" {
			q.add(s.Words(m))
		}
		attached(m.Attachments, m.Origin, &own)
	}
	if left > 0 {
		q.sources = append(q.sources, agent.Source{Origin: agent.OriginProgram})
		q.notes = append(q.notes, fmt.Sprintf("[%d more were attached, which you are not shown: only %d are]", left, maxAttached))
	}
	if len(q.texts)+len(q.images)+len(q.files) > 0 {
		text := strings.Join(append(q.texts, q.notes...), "\n\n")
		q.out.Message = agent.Message{Role: agent.User, Text: text, Images: q.images, Files: q.files, Sources: q.sources}
	}
	return q.out
}

// DocumentText returns the text of a document in the form in which Read writes it into a question. DocumentText returns
// false if the file is not a document or has no readable text.
func (r *Reader) DocumentText(ctx context.Context, f agent.File) (text string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	var q question
	at := chat.Attachment{Name: f.Name, MediaType: f.MediaType}
	err := errors.New("no document")
	switch KindOf(at, f.Content) {
	case HTML:
		err = q.addHTML(at, f.Content)
	case Document:
		err = q.addDocument(ctx, r.decoding, at, f.Content)
	}
	if err != nil || len(q.texts) == 0 {
		return "", false
	}
	return q.texts[0], true
}

// add adds a text to the question, unless it is empty.
func (q *question) add(text string, source agent.Source) {
	if text != "" {
		q.texts, q.sources = append(q.texts, text), append(q.sources, source)
	}
}

// inFrame calls the parameter read, and puts everything that read adds to the question into a frame. The frame shows
// the model that the asker has neither written nor attached the content inside. If the function read adds only notes
// about missing content, inFrame adds the notes without a frame.
func (q *question) inFrame(read func(), frame func(inside string) (string, agent.Source)) {
	texts, notes, sources := len(q.texts), len(q.notes), len(q.sources)
	read()
	if quoted, _ := frame(""); quoted == "" && len(q.texts) == texts {
		return
	}
	text, source := frame(strings.Join(append(slices.Clone(q.texts[texts:]), q.notes[notes:]...), "\n\n"))
	q.texts, q.notes = append(q.texts[:texts], text), q.notes[:notes]
	q.sources = slices.Insert(q.sources, sources, source)
}

// readOne adds one attachment to the question.
func (r *Reader) readOne(ctx context.Context, q *question, at chat.Attachment, from chat.Origin, s Sources) error {
	if at.ID == "" || s.Fetch == nil {
		q.skip(at, "this kind can't be read here")
		return errors.New("nothing to fetch")
	}
	limit := min(maxFetched, maxFetchedAll-q.bytes)
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	data, err := s.Fetch(ctx, at, limit)
	switch {
	case errors.Is(err, chat.ErrTooLarge):
		q.skip(at, "it is too large")
		return err
	case err != nil:
		q.skip(at, "it could not be fetched")
		return err
	}
	q.bytes += int64(len(data))
	switch KindOf(at, data) {
	case Image:
		return q.addImage(ctx, r.decoding, at, data)
	case Audio:
		return q.addSpeech(ctx, s.Hear, at, data, from)
	case Text:
		return q.addText(at, data)
	case HTML:
		return q.addHTML(at, data)
	case Document:
		return q.addDocument(ctx, r.decoding, at, data)
	default:
		q.skip(at, "this kind of file can't be read here")
		return errors.New("not a kind that can be read")
	}
}

func (q *question) addImage(ctx context.Context, decoding *semaphore.Weighted, at chat.Attachment, data []byte) error {
	if err := decoding.Acquire(ctx, 1); err != nil {
		return err
	}
	defer decoding.Release(1)
	p, err := Shrink(ctx, data)
	if err != nil {
		q.skip(at, "it is not a readable picture")
		return err
	}
	q.images = append(q.images, agent.Image{MediaType: p.MediaType, Data: p.Data})
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginPicture})
	return nil
}

func (q *question) addSpeech(ctx context.Context, hear Transcriber, at chat.Attachment, data []byte, from chat.Origin) error {
	if hear == nil {
		q.out.Unheard = true
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
	if from != chat.Typed { // a voice message that the sender spoke counts as typed, so only a forwarded one needs a frame
		text = history.Frame("forwarded voice message", "", text)
	}
	q.texts, q.sources = append(q.texts, text), append(q.sources, agent.Source{Origin: agent.OriginSpeech})
	return nil
}

func (q *question) addText(at chat.Attachment, data []byte) error {
	text, cut, err := Decode(data, maxText)
	if err != nil {
		q.skip(at, "it is not a readable text")
		return err
	}
	rest := ""
	if cut {
		rest = fmt.Sprintf("its first %d bytes are shown", maxText)
	}
	q.addFramed(at, text, "file", rest)
	return nil
}

// addFramed adds the text of a file to the question. rest describes which part of the file is missing in the text; "":
// nothing is missing.
func (q *question) addFramed(at chat.Attachment, text, what, rest string) {
	if rest != "" {
		text += fmt.Sprintf("\n[the %s goes on: %s]", what, rest)
	}
	q.texts = append(q.texts, history.Frame("file", name(at), text))
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginFile})
}

func (q *question) addHTML(at chat.Attachment, data []byte) error {
	page, longer, err := Decode(data, maxHTML)
	if err != nil {
		q.skip(at, "it is not a readable text")
		return err
	}
	out := &bounded{limit: maxText}
	rest := ""
	if err := readHTML(strings.NewReader(page), out, true); err != nil || out.truncated || longer {
		rest = fmt.Sprintf("its first %d bytes are shown", out.text.Len())
	}
	if out.text.Len() == 0 {
		return q.addText(at, data) // the file contains only markup, so show the markup
	}
	q.addFramed(at, out.text.String(), "document", rest)
	return nil
}

// addDocument adds the text of a document to the question. If a PDF has no readable text, addDocument adds the file
// itself, since some models can read PDF files.
func (q *question) addDocument(ctx context.Context, decoding *semaphore.Weighted, at chat.Attachment, data []byte) error {
	if err := decoding.Acquire(ctx, 1); err != nil {
		return err
	}
	defer decoding.Release(1)
	d, err := readDocument(ctx, data, maxText)
	switch {
	case errors.Is(err, errOtherKind):
		q.skip(at, "this kind of file can't be read here")
		return err
	case err == nil && !d.thin:
		q.addFramed(at, d.text, "document", d.rest)
		return nil
	case isPDF(data) && len(data) <= maxFile:
		q.files = append(q.files, agent.File{Name: name(at), MediaType: "application/pdf", Content: data})
		q.sources = append(q.sources, agent.Source{Origin: agent.OriginFile})
		return nil
	case err == nil:
		q.skip(at, "it has no text that can be read, and it is too large to be handed on")
		return errors.New("no text")
	}
	q.skip(at, "it is damaged, too large or encrypted")
	return err
}

// skip adds a note that tells the model why an attachment is missing.
func (q *question) skip(at chat.Attachment, why string) {
	// The note contains the file name, which the sender chose.
	q.sources = append(q.sources, agent.Source{Origin: agent.OriginFile})
	q.notes = append(q.notes, fmt.Sprintf("[attached: %s, which you are not shown: %s]", name(at), why))
	q.out.Failed = append(q.out.Failed, name(at)+" ("+why+")")
}

// name returns an attachment's name on one line.
func name(at chat.Attachment) string {
	return cmp.Or(history.OneLine(at.Name, maxName), history.OneLine(at.MediaType, maxName), "a file")
}

// maxName is the maximum length of a file's name, in characters.
const maxName = 80
