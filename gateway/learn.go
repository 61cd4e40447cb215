package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// learnTimeout limits how long a search for a sent message waits for the store.
const learnTimeout = 2 * time.Second

// informedFinder is a preview.Finder for a platform to which other replicas also send messages. Before each search,
// informedFinder reads from the store which messages the other replicas have sent and received, and tells the adapter.
type informedFinder struct {
	preview.Finder
	learn func(context.Context) error // fails if this process must not call the platform any more
}

// Find implements preview.Finder.
func (f informedFinder) Find(ctx context.Context, to chat.Target, c chat.Create, next string) (chat.Found, error) {
	if next == "" {
		if err := f.learn(ctx); err != nil {
			return chat.Found{}, &chat.SendError{Kind: chat.Temporary, Err: err}
		}
	}
	return f.Finder.Find(ctx, to, c, next)
}

// finder returns the preview.Finder of an adapter, or nil if the adapter can't search for messages.
func (g *Gateway) finder(e chat.EndpointID, p Platform) preview.Finder {
	f, ok := p.(preview.Finder)
	if !ok {
		return nil
	}
	learner, ok := p.(Learner)
	if !ok || g.shared == nil {
		return f
	}
	return informedFinder{f, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, learnTimeout)
		defer cancel()
		from, err := g.store.inbox.Resume(ctx, e)
		if err != nil {
			return fmt.Errorf("read sent messages: %w", err)
		}
		if !g.mayCall() { // the lease of this process ended meanwhile
			return chat.ErrLost
		}
		learner.Learn(slices.Concat(from.Sent, from.Received))
		return nil
	}}
}
