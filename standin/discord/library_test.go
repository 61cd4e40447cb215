package discord_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/standin/discord"
	"telex/standin/memnet"
)

// toStandin redirects the calls of a library to a stand-in, because the library's base URL is fixed.
type toStandin struct{ to http.RoundTripper }

func (r toStandin) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = "http", "standin", "standin"
	return r.to.RoundTrip(req)
}

// patience is the maximum time for which the test waits for each event. The library runs in real time.
const patience = 30 * time.Second

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// TestLibrary checks that a Discord client library by another author works with the stand-in.
func TestLibrary(t *testing.T) {
	s := discord.New(discord.Options{})
	l := memnet.Listen()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	bot, err := discordgo.New("Bot " + s.Token())
	if err != nil {
		t.Fatal(err)
	}
	bot.Client = &http.Client{Transport: toStandin{transport}}
	bot.Dialer.NetDialContext = l.Dial
	bot.Identify.Intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	bot.ShouldReconnectOnError, bot.SyncEvents = false, true

	messages, interactions := make(chan *discordgo.MessageCreate, 10), make(chan *discordgo.InteractionCreate, 10)
	bot.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { messages <- m })
	bot.AddHandler(func(_ *discordgo.Session, i *discordgo.InteractionCreate) { interactions <- i })
	if err := bot.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(bot.Close(), s.Close(), <-served)
		transport.CloseIdleConnections()
		if err != nil {
			t.Errorf("close: %v", err)
		}
	})

	if _, err := s.Say(discord.Incoming{Channel: general, Text: s.Mention() + " hello"}); err != nil {
		t.Fatal(err)
	}
	m := receive(t, "message", messages)
	if m.Content != s.Mention()+" hello" || m.Author.ID != person || len(m.Mentions) != 1 || m.GuildID != discord.DefaultGuild {
		t.Errorf("message: got %+v", m.Message)
	}
	sent, err := bot.ChannelMessageSendComplex(general, &discordgo.MessageSend{
		Content: "thinking", Reference: m.Reference(), AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.Button{Label: "Stop", CustomID: "stop"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if own := receive(t, "own message", messages); own.ID != sent.ID || own.ReferencedMessage == nil || len(own.Components) != 1 {
		t.Errorf("own message: got %+v", own.Message)
	}
	if _, err := bot.ChannelMessageEdit(general, sent.ID, "done"); err != nil {
		t.Fatal(err)
	}
	_, err = bot.ChannelMessageEdit(general, "9", "x")
	if rest, ok := errors.AsType[*discordgo.RESTError](err); !ok || rest.Message.Code != discordgo.ErrCodeUnknownMessage {
		t.Errorf("edit of nothing: got %v", err)
	}

	if _, err := bot.ApplicationCommandBulkOverwrite(app, "", []*discordgo.ApplicationCommand{{Name: "new", Description: "Start over"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Slash(discord.Invocation{Channel: general, Name: "new"}); err != nil {
		t.Fatal(err)
	}
	i := receive(t, "interaction", interactions)
	if err := bot.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource}); err != nil {
		t.Fatal(err)
	}
	text := "a new beginning"
	if _, err := bot.InteractionResponseEdit(i.Interaction, &discordgo.WebhookEdit{Content: &text}); err != nil {
		t.Fatal(err)
	}
	thread, err := bot.MessageThreadStart(general, sent.ID, "talk", 60)
	if err != nil || thread.ID != sent.ID {
		t.Errorf("thread: got %+v, %v", thread, err)
	}
	seen := s.View(general, time.Now())
	if len(seen) != 3 || seen[1].Content() != "done" || seen[2].Content() != text || len(seen[1].Pings) != 0 {
		t.Errorf("screen: got %+v", seen)
	}
	if v := s.Stats().Violations; v.Total() != 0 {
		t.Errorf("violations: got %+v", v)
	}
}
