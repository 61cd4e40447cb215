package discord_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/discord"
	standin "telex/standin/discord"
)

// The bot must also work on a real network, with its own HTTP transport.
func TestOnTheNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := standin.New(standin.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	bot := discord.New(discord.Options{Token: server.Token(), APIBase: "http://" + l.Addr().String()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := server.Watch(ctx)
	accepted, done := make(chan chat.Inbound, 1), make(chan error, 1)
	go func() {
		done <- bot.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
			accepted <- in
			return nil
		})
	}()
	for e := range events {
		if e.Gateway == "identified" {
			break
		}
	}
	if _, err := server.Say(standin.Incoming{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	in := <-accepted
	r, err := bot.Send(ctx, in.To, chat.Outgoing{Text: "hi", Key: "k", ReplyTo: in.ID})
	if err == nil {
		_, err = bot.Edit(ctx, r.Ref, chat.Outgoing{Text: "hi there"})
	}
	if err != nil {
		t.Error(err)
	}
	if seen := server.View(string(in.To.Chat), time.Now()); in.Text != "hello" || len(seen) != 2 || seen[1].Content() != "hi there" {
		t.Errorf("got %+v, shown are %+v", in, seen)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	bot.Close()
	if err := errors.Join(server.Close(), <-served); err != nil {
		t.Error(err)
	}
}
