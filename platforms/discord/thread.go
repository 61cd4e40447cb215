package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// archiveAfter is after how many minutes without a message a thread leaves the list of active ones.
const archiveAfter = 1440

// inPlace makes a call in the channel of a place, and returns which one it was. The thread of an answer is created by the first
// call there, so that a person without access causes none. If it can't be created, the call goes to the parent channel.
func (b *Bot) inPlace(
	ctx context.Context, name string, to chat.Target, call func(channel string) (*answer, error),
) (*answer, string, error) {
	channel := channelOf(to)
	if !isSnowflake(channel) || !isSnowflake(string(to.Chat)) {
		return nil, "", &chat.SendError{Kind: chat.Forbidden, Err: fmt.Errorf("%s: %w", name, errNoPlace)}
	}
	if !b.threads || to.Thread == "" {
		a, err := call(channel)
		return a, channel, err
	}
	if b.places.isThreadless(channel) {
		a, err := call(string(to.Chat))
		return a, string(to.Chat), err
	}
	a, err := call(channel)
	if codeOf(err) == discordgo.ErrCodeUnknownChannel {
		made, failed := b.startThread(ctx, to)
		if failed != nil {
			return nil, channel, failed
		}
		if made {
			a, err = call(channel)
		}
	}
	switch code := codeOf(err); {
	case code == discordgo.ErrCodeUnknownChannel: // it can't be made, or was one that somebody deleted
	case code == discordgo.ErrCodeMissingPermissions && b.questions.Has(channel): // the bot may begin threads and not write in them
		b.disableThreads(ctx, string(to.Chat), err)
		b.places.disableThreads(channel)
	default:
		return a, channel, err
	}
	a, err = call(string(to.Chat))
	return a, string(to.Chat), err
}

// disableThreads notes that answers in a channel get no threads, and logs it once.
func (b *Bot) disableThreads(ctx context.Context, parent string, err error) {
	if b.places.disableThreads(parent) {
		b.log.WarnContext(ctx, "no thread can be made: give the bot the permission to create public threads and to send "+
			"messages in them; until then it answers in the channel", slog.String("channel", parent), slog.Any("error", err))
	}
}

// startThread creates the thread of a message, which has the message's id. It reports false if no thread can be created.
// https://docs.discord.com/developers/resources/channel#start-thread-from-message
func (b *Bot) startThread(ctx context.Context, to chat.Target) (bool, error) {
	parent, question := string(to.Chat), string(to.Thread)
	begin := func(name string) error {
		_, err := b.call(ctx, request{
			name: "startThread", verb: http.MethodPost, path: "/channels/" + parent + "/messages/" + question + "/threads",
			body: map[string]any{"name": name, "auto_archive_duration": archiveAfter},
		})
		return err
	}
	err := begin(b.threadName(ctx, parent, question))
	if code := codeOf(err); code == codeTitleByAutoMod || code == codeBlockedByAutoMod { // the question's words are not wanted there
		err = begin(nameOf(""))
	}
	if err == nil || codeOf(err) == discordgo.ErrCodeThreadAlreadyCreatedForThisMessage {
		return true, nil
	}
	switch chat.AsSendError(err).Kind {
	case chat.Forbidden:
		b.disableThreads(ctx, parent, err)
		return false, nil
	case chat.Rejected, chat.Gone: // of this question only: it was deleted, or there are too many threads just now
		if b.places.disableThreads(question) {
			b.log.InfoContext(ctx, "no thread was made for a question", slog.String("channel", parent), slog.Any("error", err))
		}
		return false, nil
	}
	return false, err
}

// threadName returns a name for a thread: the beginning of the question.
func (b *Bot) threadName(ctx context.Context, parent, question string) string {
	if name, ok := b.questions.Get(question); ok {
		return name
	}
	_ = b.learnSelf(ctx) // whose name is left out; without it the name only looks worse
	a, err := b.call(ctx, request{name: "getMessage", verb: http.MethodGet, path: "/channels/" + parent + "/messages/" + question})
	if err != nil {
		return nameOf("")
	}
	var m incoming
	if err := json.Unmarshal(a.Body, &m); err != nil {
		return nameOf("")
	}
	text, _ := m.read(b.identity(), "")
	return nameOf(text)
}

// unarchive reopens an archived thread, in which nothing can be changed. A locked thread stays archived.
func (b *Bot) unarchive(ctx context.Context, channel string) error {
	_, err := b.call(ctx, request{
		name: "editChannel", verb: http.MethodPatch, path: "/channels/" + channel, body: map[string]any{"archived": false},
	})
	if kind := chat.AsSendError(err).Kind; err != nil && (kind == chat.Rejected || kind == chat.Gone) {
		return &chat.SendError{Kind: chat.Forbidden, Err: err}
	}
	return err
}

// nameOf makes a text a thread's name: one line, cut at a word.
func nameOf(text string) string {
	const enough = 60 // characters; what lists of threads show
	name := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		switch {
		case name == "":
			name = cut(word, enough)
		case len([]rune(name))+1+len([]rune(word)) > enough:
			return name + "…"
		default:
			name += " " + word
		}
	}
	return cut(cmp.Or(name, "Conversation"), maxThreadName)
}

// maxQuestions bounds for how many messages it is remembered how their threads shall be called.
const maxQuestions = 200
