package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"telex/internal/chat"
)

// Find looks for the message of a create of unknown outcome. Telegram can't be asked for messages, but it tells whether an edit
// would change one: Find tries to give a message the content that it was created with. "Message is not modified" proves that it
// is the message. Somebody else's message can't be edited, and one in another chat is not found. Each call of Find tries one id.
//
// The ids that the message can have lie above the newest one that was known before the create, and end a little above the
// newest one that is known now. Known messages are left out: those of people, and all that the bot sent, by this process or by
// an earlier one that recorded them. So an edit can only change a message of the bot's whose own outcome is unknown. It counts
// as found then, as Taken, and the create that made it does not find its message and is sent again.
//
// A file's message is tried by its caption and its buttons: texts have none, and uploading the file again would change it. That
// two files with the same caption are in doubt in one chat at the same time can't be told from one.
func (b *Bot) Find(ctx context.Context, to chat.Target, c chat.Create, next string) (chat.Found, error) {
	var from probe
	if next != "" {
		if _, err := fmt.Sscanf(next, "%d/%d", &from.id, &from.made); err != nil {
			return chat.Found{}, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("a search can't go on with %q", next)}
		}
	}
	if c.Message.Text == "" && !c.File {
		return chat.Found{Unsure: true}, nil
	}
	p, ok, err := b.ids.next(to, c, from)
	if err != nil {
		return chat.Found{}, &chat.SendError{Kind: chat.Temporary, Err: err}
	}
	if !ok || p.made >= mostProbes(to) || p.above == 0 {
		return b.notFound(ctx, to, c, p, ok), nil
	}
	ref := chat.MessageRef{Target: to, ID: chat.MessageID(strconv.Itoa(p.id))}
	what, err := b.try(ctx, ref, c)
	own := b.ids.done(to, c.Key, p.id, what)
	switch what {
	case refused, unknown:
		return chat.Found{}, err
	case matched, replaced:
		b.log.InfoContext(ctx, "found a message of unknown outcome", slog.String("key", c.Key), slog.Int("id", p.id),
			slog.Int("above", p.above), slog.Int("upto", p.upto), slog.Int("probes", p.made+1), slog.Bool("by_content", what == matched && own))
		return chat.Found{Ref: ref, Taken: what == replaced || !own}, nil
	case missed, foreign:
	}
	return chat.Found{Next: fmt.Sprintf("%d/%d", p.id, p.made+1)}, nil
}

// notFound ends a search. more says that ids are left that were not tried.
func (b *Bot) notFound(ctx context.Context, to chat.Target, c chat.Create, p probe, more bool) chat.Found {
	unsure := more || p.above == 0
	if more {
		b.ids.done(to, c.Key, p.id, missed)
	}
	b.ids.over(to, c.Key)
	b.log.InfoContext(ctx, "found no message of unknown outcome", slog.String("key", c.Key),
		slog.Int("above", p.above), slog.Int("upto", p.upto), slog.Int("probes", p.made), slog.Bool("unsure", unsure))
	return chat.Found{Unsure: unsure}
}

// try probes whether a message has a content. Every answer that is about the message or its content means that it has not; all
// others say nothing.
func (b *Bot) try(ctx context.Context, ref chat.MessageRef, c chat.Create) (probed, error) {
	method := methodEdit
	if c.File {
		method = "editMessageCaption"
	}
	params, err := message(method, ref)
	if err != nil {
		return missed, nil
	}
	if c.File {
		encodeText(params, "caption", "caption_entities", c.Message)
		encodeActions(params, c.Message.Actions)
	} else {
		encode(params, c.Message, b.sendsRich(c.Message))
	}
	_, err = b.call(ctx, method, params)
	if err == nil {
		return replaced, nil
	}
	switch e := chat.AsSendError(err); {
	case says(err, "message is not modified"):
		return matched, nil
	case says(err, "message can't be edited"):
		return foreign, nil
	case e.Kind == chat.Gone, e.Kind == chat.Frozen, e.Kind == chat.Rejected:
		return missed, nil
	case e.Kind == chat.Uncertain:
		return unknown, err
	}
	return refused, err
}
