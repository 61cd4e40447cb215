package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"telex/internal/chat"
)

// Find looks for the message that a create call of unknown outcome may have made. Telegram has no call that reads
// messages, but its response to an edit tells whether the edit changed the message. To find the message, Find edits
// messages to the content of the create call. The response "message is not modified" proves that the create call made
// the edited message. Telegram refuses edits of other people's messages, and an edit never finds a message of another
// chat. Each call of Find tries one message id.
//
// An edit by which Find tries an id is called a probe. Find starts no probe while a message is being sent to the
// chat, because the probe could overwrite that message.
//
// Find tries the ids that follow the newest id that was known before the create call. Find stops a few ids after the
// newest id that is known when Find stops. Find skips the ids of received messages and of messages that this process or
// an earlier process sent. A probe can therefore change only a message of the bot that another create call of unknown
// outcome made. If a probe changes a message, Find returns the message with Taken set. If the gateway later searches
// for the changed message, Find finds nothing, and the gateway sends that message again.
//
// For a file, Find edits the caption and the buttons of messages. Find does not upload the file again, because
// uploading the file would change the message. Telegram refuses to edit the caption of a text message, which has no
// caption. If two create calls for files with the same caption in one chat have an unknown outcome, Find can't
// distinguish the two messages.
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

// notFound returns the result of Find if the message was not found. The parameter more says that Find has not tried all
// ids.
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

// probeMessage edits a message to find out whether the create call c made this message. If Telegram's error is about
// the message or its content, the create call did not make the message. All other errors are inconclusive.
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
