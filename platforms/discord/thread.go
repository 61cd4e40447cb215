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

// Discord archives a thread when it has had no new message for archiveMinutes.
const archiveMinutes = 1440

// inChannel passes the thread or channel of a target to the function call, and returns the thread or channel with which
// the function succeeded. If the thread does not exist, inChannel creates the thread. telex creates the thread only
// when the bot answers, so that questions of people without access create no threads. If the thread can't be created,
// inChannel uses the parent channel instead.
func (b *Bot) inChannel(
	ctx context.Context, name string, to chat.Target, call func(channel string) (*response, error),
) (*response, string, error) {
	channel := channelOf(to)
	if !isSnowflake(channel) || !isSnowflake(string(to.Chat)) {
		return nil, "", &chat.SendError{Kind: chat.Forbidden, Err: fmt.Errorf("%s: %w", name, errInvalidTarget)}
	}
	if !b.threads || to.Thread == "" {
		a, err := call(channel)
		return a, channel, err
	}
	if b.channels.isThreadless(channel) {
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
	case code == discordgo.ErrCodeUnknownChannel: // the thread can't be created, or somebody deleted it
	case code == discordgo.ErrCodeMissingPermissions && b.questions.Has(channel): // the bot may create threads, not write in them
		b.disableThreads(ctx, string(to.Chat), err)
		b.channels.disableThreads(channel)
	default:
		return a, channel, err
	}
	a, err = call(string(to.Chat))
	return a, string(to.Chat), err
}

// disableThreads records that the bot answers a channel's questions without threads, because it can't create threads in
// this channel or can't write in them. disableThreads logs a warning only if the channel was not recorded before, or if
// addGuild has canceled the record since then.
func (b *Bot) disableThreads(ctx context.Context, parent string, err error) {
	if b.channels.disableThreads(parent) {
		b.log.WarnContext(ctx, "no thread can be made: give the bot the permission to create public threads and to send "+
			"messages in them; until then it answers in the channel", slog.String("channel", parent), slog.Any("error", err))
	}
}

// startThread creates the thread that starts at a message. The thread gets the same id as the message. startThread
// returns false if it can't create the thread.
// https://docs.discord.com/developers/resources/channel#start-thread-from-message
func (b *Bot) startThread(ctx context.Context, to chat.Target) (bool, error) {
	parent, question := string(to.Chat), string(to.Thread)
	begin := func(name string) error {
		_, err := b.call(ctx, request{
			name: "startThread", method: http.MethodPost, path: "/channels/" + parent + "/messages/" + question + "/threads",
			body: map[string]any{"name": name, "auto_archive_duration": archiveMinutes},
		})
		return err
	}
	err := begin(b.threadName(ctx, parent, question))
	if code := codeOf(err); code == codeTitleByAutoMod || code == codeBlockedByAutoMod { // AutoMod blocked the question's words
		err = begin(threadNameOf(""))
	}
	if err == nil || codeOf(err) == discordgo.ErrCodeThreadAlreadyCreatedForThisMessage {
		return true, nil
	}
	switch chat.AsSendError(err).Kind {
	case chat.Forbidden:
		b.disableThreads(ctx, parent, err)
		return false, nil
	case chat.Rejected, chat.Gone: // no thread for this question only: it was deleted, or the channel has too many active threads
		if b.channels.disableThreads(question) {
			b.log.InfoContext(ctx, "no thread was made for a question", slog.String("channel", parent), slog.Any("error", err))
		}
		return false, nil
	}
	return false, err
}

// threadName returns a name for a thread. The name is the beginning of the question. If the bot can't read the
// question, or the question has no text, the name is "Conversation".
func (b *Bot) threadName(ctx context.Context, parent, question string) string {
	if name, ok := b.questions.Get(question); ok {
		return name
	}
	_ = b.fetchSelf(ctx) // if fetchSelf fails, the name may contain the mention of the bot
	a, err := b.call(ctx, request{name: "getMessage", method: http.MethodGet, path: "/channels/" + parent + "/messages/" + question})
	if err != nil {
		return threadNameOf("")
	}
	var m incoming
	if err := json.Unmarshal(a.Body, &m); err != nil {
		return threadNameOf("")
	}
	text, _ := m.readText(b.identity(), "")
	return threadNameOf(text)
}

// unarchive reopens an archived thread, because an archived thread can't be changed. If the thread is locked, the
// thread stays archived and the call fails.
func (b *Bot) unarchive(ctx context.Context, channel string) error {
	_, err := b.call(ctx, request{
		name: "editChannel", method: http.MethodPatch, path: "/channels/" + channel, body: map[string]any{"archived": false},
	})
	if kind := chat.AsSendError(err).Kind; err != nil && (kind == chat.Rejected || kind == chat.Gone) {
		return &chat.SendError{Kind: chat.Forbidden, Err: err}
	}
	return err
}

// threadNameOf turns a text into a thread's name: one line, cut at a word.
func threadNameOf(text string) string {
	const maxLength = 60 // Discord's lists of threads show about 60 characters of a name
	name := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		switch {
		case name == "":
			name = truncate(word, maxLength)
		case len([]rune(name))+1+len([]rune(word)) > maxLength:
			return name + "…"
		default:
			name += " " + word
		}
	}
	return truncate(cmp.Or(name, "Conversation"), maxThreadName)
}

// maxQuestions limits the questions for which the bot remembers the name of a thread that does not exist yet.
const maxQuestions = 200
