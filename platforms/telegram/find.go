package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"telex/internal/chat"
)

// Find looks for the message of a create with an unknown outcome. Telegram has no call that reads messages, but it
// reports whether an edit changes one. So Find edits a message to the content of the create. "Message is not modified"
// proves that it is the message. Other people's messages can't be edited, and messages of other chats are not found.
// Each call of Find tries one id.
//
// No probe begins while a message is being sent to the chat, because it could hit that message.
//
// The candidates are the ids after the newest id that was known before the create, up to a little after the newest
// one that is known now. Find skips known messages: those of people, and those that the bot sent, in this process or
// recorded by an earlier one. So an edit can only change a message of the bot whose own create has an unknown
// outcome. Such a message counts as found, with Taken set. The create that made it then does not find its message and
// is sent again.
//
// For a file's message, Find edits its caption and its buttons: text messages have no caption, and uploading the file
// again would change the message. If two files with the same caption in one chat have an unknown outcome, Find can't
// tell them apart.
func (b *Bot) Find(ctx context.Context, to chat.Target, c chat.Create, next string) (chat.Found, error) {
	var from probe
	if next != "" {
		if _, err := fmt.Sscanf(next, "%d/%d", &from.id, &from.count); err != nil {
			return chat.Found{}, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("invalid search position %q", next)}
		}
	}
	if c.Message.Text == "" && !c.File {
		return chat.Found{Unsure: true}, nil
	}
	p, ok, err := b.ids.nextProbe(to, c, from)
	if err != nil {
		return chat.Found{}, &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	if !ok || p.count >= probeLimit(to) || p.after == 0 {
		return b.notFound(ctx, to, c, p, ok), nil
	}
	ref := chat.MessageRef{Target: to, ID: chat.MessageID(strconv.Itoa(p.id))}
	result, err := b.probeMessage(ctx, ref, c)
	own := b.ids.finishProbe(to, c.Key, p.id, result)
	switch result {
	case inconclusive, maybeReplaced:
		return chat.Found{}, err
	case matched, replaced:
		b.log.InfoContext(ctx, "found a message of unknown outcome", slog.String("key", c.Key), slog.Int("id", p.id),
			slog.Int("above", p.after), slog.Int("upto", p.last), slog.Int("probes", p.count+1), slog.Bool("by_content", result == matched && own))
		return chat.Found{Ref: ref, Taken: result == replaced || !own}, nil
	case absent, foreign:
	}
	return chat.Found{Next: fmt.Sprintf("%d/%d", p.id, p.count+1)}, nil
}

// notFound ends a search. more says that some ids were not tried.
func (b *Bot) notFound(ctx context.Context, to chat.Target, c chat.Create, p probe, more bool) chat.Found {
	unsure := more || p.after == 0
	if more {
		b.ids.finishProbe(to, c.Key, p.id, absent)
	}
	b.ids.endSearch(to, c.Key)
	b.log.InfoContext(ctx, "found no message of unknown outcome", slog.String("key", c.Key),
		slog.Int("above", p.after), slog.Int("upto", p.last), slog.Int("probes", p.count), slog.Bool("unsure", unsure))
	return chat.Found{Unsure: unsure}
}

// probeMessage checks whether a message has the content of the create. Errors about the message or its content mean
// that the message is another one. All other errors are inconclusive.
func (b *Bot) probeMessage(ctx context.Context, ref chat.MessageRef, c chat.Create) (probeResult, error) {
	method := methodEdit
	if c.File {
		method = "editMessageCaption"
	}
	params, err := messageParams(method, ref)
	if err != nil {
		return absent, nil
	}
	if c.File {
		addText(params, "caption", "caption_entities", c.Message)
		addButtons(params, c.Message.Actions)
	} else {
		addContent(params, c.Message, b.sendsRich(c.Message))
	}
	_, err = b.call(ctx, method, params)
	if err == nil {
		return replaced, nil
	}
	switch e := chat.AsSendError(err); {
	case hasDescription(err, "message is not modified"):
		return matched, nil
	case hasDescription(err, "message can't be edited"):
		return foreign, nil
	case e.Kind == chat.Gone, e.Kind == chat.Frozen, e.Kind == chat.Rejected:
		return absent, nil
	case e.Kind == chat.Uncertain:
		return maybeReplaced, err
	}
	return inconclusive, err
}
