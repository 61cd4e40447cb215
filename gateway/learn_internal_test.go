package gateway

import (
	"context"
	"slices"
	"testing"

	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// searcher is an adapter that records which messages it knows when it searches.
type searcher struct {
	Platform
	known []chat.MessageID
}

func (s *searcher) Learn(known []chat.MessageRef) {
	for _, ref := range known {
		s.known = append(s.known, ref.ID)
	}
}

func (s *searcher) Forget() { s.known = nil }

func (s *searcher) Newest(chat.Target) chat.MessageID { return "" }

func (s *searcher) Find(context.Context, chat.Target, chat.Create, string) (chat.Found, error) {
	return chat.Found{Next: "more"}, nil
}

// The adapter must know the messages that other replicas have sent and received when it searches for a message. Of the
// calls that make up one search, only the first may read the messages of other replicas from the store.
func TestSearchKnowsMessagesOfOtherReplicas(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), memory.New()
	c := chat.Conversation{Endpoint: "tg", Chat: "7"}
	in := chat.Inbound{To: chat.Target{Chat: "7"}, ID: "m1"}
	part := chat.Part{Key: "t.0", State: chat.PartStands, Ref: chat.MessageRef{Target: in.To, ID: "b1"}}
	if _, err := s.Accept(ctx, c, in); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(ctx, chat.Turn{ID: "t", Conversation: c, Messages: []chat.Inbound{in}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(ctx, "t", part); err != nil {
		t.Fatal(err)
	}
	adapter, other := new(searcher), s.Another()
	f := (&Gateway{store: newStores(other), shared: other}).finder("tg", adapter)
	for _, next := range []string{"", "more"} {
		if found, err := f.Find(ctx, in.To, chat.Create{}, next); err != nil || found.Next != "more" {
			t.Errorf("got %+v, %v", found, err)
		}
	}
	if slices.Sort(adapter.known); !slices.Equal(adapter.known, []chat.MessageID{"b1", "m1"}) {
		t.Errorf("it knows %q", adapter.known)
	}
	if f := (&Gateway{store: newStores(s)}).finder("tg", adapter); f != preview.Finder(adapter) {
		t.Error("without replicas, each search asks the store")
	}
}
