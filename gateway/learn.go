package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// learnTimeout limits how long a search waits for the store.
const learnTimeout = 2 * time.Second

// informedFinder is a Finder for a platform to which other replicas send too. Before each search, the adapter
// learns which messages exist.
type informedFinder struct {
	preview.Finder
	learn func(context.Context) error // fails if the process must not call the platform any more
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

// finder returns an adapter's Finder; nil if it has none.
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
		if !g.mayCall() { // the lease ended meanwhile
			return chat.ErrLost
		}
		learner.Learn(slices.Concat(from.Sent, from.Received))
		return nil
	}}
}
