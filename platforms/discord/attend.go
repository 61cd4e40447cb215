package discord

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/bwmarrin/discordgo"
)

// mostAtOnce is how many interactions are looked after at once.
const mostAtOnce = 64

// interact hands on what somebody did, and then tells the platform that it was received, which must be soon.
func (r *reception) interact(ctx context.Context, i *interacted, seq int64) error {
	in, c, found, err := r.decodeInteraction(i)
	switch {
	case err != nil:
		r.log.WarnContext(ctx, "interaction skipped", slog.Any("error", err))
		return nil
	case !found, r.session.knows(i.ID):
		return nil
	}
	at := r.cursorAt(i.ID, seq)
	in.Resume, in.Missed = at.String(), r.replays
	press, place := i.Type == discordgo.InteractionMessageComponent, ""
	if !press {
		place = channelOf(in.To)
	}
	done := r.interactions.begin(i.ID, place) // before anybody can want to answer
	if err := r.accept(ctx, in); err != nil {
		done()
		return fmt.Errorf("accept interaction %s: %w", i.ID, err)
	}
	r.session.remember(i.ID)
	r.noted(i.ID, at)
	r.atOnce(ctx, func() {
		defer done()
		r.acknowledge(ctx, c, press)
	}, done)
	return nil
}

// conclusions looks after the commands that were answered.
func (r *reception) conclusions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.Bot.conclusions:
			if c, ok := parseCommand(id); ok {
				r.atOnce(ctx, func() { r.conclude(ctx, c) }, func() {})
			}
		}
	}
}

// atOnce does something beside all else, or nothing but otherwise when too much is done already.
func (r *reception) atOnce(ctx context.Context, do, otherwise func()) {
	select {
	case r.slots <- struct{}{}:
	default:
		r.log.WarnContext(ctx, "interaction is not looked after: too many came at once")
		otherwise()
		return
	}
	r.workers.Go(func() {
		defer func() { <-r.slots }()
		do()
	})
}
