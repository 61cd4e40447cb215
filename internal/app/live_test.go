package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
	"telex/platforms/homeassistant"
	"telex/standin/discord"
	"telex/standin/telegram"
)

// livePlatform says which platform and which chat the function roundTrip uses. For `make test-live`, the values come
// from the environment.
type livePlatform struct {
	kind  string
	place string // the chat, channel or number that the bot writes to
	extra map[string]string
}

// target returns the place to which the bot writes a message. The function that target returns maps the id of the bot's message
// to the place of the answer.
func (p livePlatform) target() (chat.Target, func(chat.MessageID) chat.Target) {
	to := chat.Target{Chat: chat.ChatID(p.place)}
	switch {
	case p.kind == config.KindHomeAssistant:
		to.Chat = homeassistant.Chat
	case p.kind == config.KindTelegram && strings.HasPrefix(p.place, "-"), p.kind == config.KindDiscord:
		to.Kind = chat.Group
	case p.kind == config.KindSlack && !strings.HasPrefix(p.place, "D"):
		to.Kind = chat.Group
		return to, func(id chat.MessageID) chat.Target {
			return chat.Target{Chat: to.Chat, Thread: chat.ThreadID(id), Kind: chat.Group}
		}
	}
	return to, func(chat.MessageID) chat.Target { return to }
}

// liveKeys returns the configuration keys of a platform with their values from the environment, and the names of the
// variables that are missing.
func liveKeys(kind setupKind, env config.Env) (values []draftValue, missing []string) {
	for _, k := range kind.keys {
		value := env.Value(k.env)
		switch {
		case value == "" && k.random:
			value = randomSecret()
		case value == "" && k.defaultValue == "":
			missing = append(missing, k.env)
		case value == "":
			value = k.defaultValue
		}
		values = append(values, draftValue{key: k.key, value: value, secret: k.secret})
	}
	return values, missing
}

// roundTrip checks the bot's account on a platform, and lets the bot send a message and edit it. Then roundTrip starts a daemon
// with the configured model, which answers this message as if a person had sent it.
func roundTrip(t *testing.T, p livePlatform, d draft) {
	t.Helper()
	dir := t.TempDir()
	for key, value := range p.extra {
		d.platforms[0].set(draftValue{key: key, value: value})
	}
	d.allow = []string{p.kind + ":*"}
	file := filepath.Join(dir, "config.yaml")
	if err := d.write(file); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	c.Admin.Listen = "127.0.0.1:0" // without an admin address, the daemon has no metrics
	o := Options{Log: slog.New(slog.DiscardHandler), Env: func(name string) (string, bool) { return dir, name == "STATE_DIRECTORY" }}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	e := c.Endpoints[0]
	account := newAccount(e, minPause, o, o.Log)
	defer account.Close()
	seen, err := account.Examine(ctx)
	if err != nil {
		t.Fatalf("%v: %s", err, mendOf(chat.AsSendError(err).Kind, "the environment"))
	}
	for _, f := range seen.Findings {
		t.Errorf("%s: %s", f.What, f.Mend)
	}
	to, answered := p.target()
	const text = "This is telex testing itself: reply with one short sentence, please."
	say := func(text string) chat.Outgoing {
		return chat.Outgoing{Text: text, Plain: text, Source: text, Key: "live-" + fmt.Sprint(time.Now().UnixNano())}
	}
	receipt, err := account.Send(ctx, to, say("This is telex testing itself …"))
	if err != nil {
		t.Fatalf("send to %q: %v", to.Chat, err)
	}
	if editor, ok := any(account).(preview.Editor); ok {
		if _, err := editor.Edit(ctx, receipt.Ref, say(text)); err != nil {
			t.Fatalf("edit: %v", err)
		}
	}
	if err := askInStore(ctx, dir, e, chat.Inbound{
		To: answered(receipt.Ref.ID), ID: receipt.Ref.ID, Sender: chat.Sender{ID: "1", Name: "Live test"}, Text: text, Addressed: true, At: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	daemon, err := New(ctx, c, o)
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(running) }()
	figures := awaitFinal(ctx, t, daemon)
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for name, n := range figures {
		calls := strings.HasPrefix(name, "telex_platform_calls_total") || strings.HasPrefix(name, "telex_model_calls_total")
		if calls && !strings.Contains(name, `outcome="ok"`) && !strings.Contains(name, `outcome="rate_limited"`) { // the limit also counts the test's message
			t.Errorf("%s %v", name, n)
		}
	}
	if deleter, ok := any(account).(preview.Deleter); ok {
		if err := deleter.Delete(ctx, receipt.Ref); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	t.Logf("%s as %s: sent, edited and answered", network(p.kind), seen.Account)
}

// askInStore stores a message, so that a daemon that starts later answers the message as if the platform had delivered
// it.
func askInStore(ctx context.Context, dir string, e config.Endpoint, in chat.Inbound) error {
	s, err := store.Open(ctx, store.Options{Path: store.File(dir)})
	if err != nil {
		return err
	}
	_, err = s.Accept(ctx, chat.Conversation{Endpoint: chat.EndpointID(e.Name), Chat: in.To.Chat, Thread: in.To.Thread}, in)
	return errors.Join(err, s.Close())
}

// awaitFinal waits until the daemon has delivered its answer, and returns the daemon's metrics.
func awaitFinal(ctx context.Context, t *testing.T, daemon *App) map[string]float64 {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond) // poll, because the daemon does not report its last write
	defer ticker.Stop()
	for {
		figures := make(map[string]float64)
		families, err := daemon.metrics.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		finals := uint64(0)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				var labels []string
				for _, l := range m.GetLabel() {
					labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}
				figures[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
				if f.GetName() == "telex_final_seconds" {
					finals += m.GetHistogram().GetSampleCount()
				}
			}
		}
		if finals > 0 && figures["telex_conversations_active{}"] == 0 {
			return figures
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Errorf("no answer was shown; the problems: %+v", daemon.problems.Newest())
			return figures
		}
	}
}

// roundTrip, which `make test-live` uses with real platforms, must also work with the stand-ins of the platforms.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.world.Telegram.Say(telegram.Incoming{User: 1001, FirstName: "Ada", Text: "/start"})
	for _, c := range []struct {
		platform livePlatform
		env      map[string]string
	}{
		{livePlatform{config.KindTelegram, "1001", map[string]string{"api_base": p.world.TelegramURL}}, map[string]string{"TELEGRAM_BOT_TOKEN": goodToken}},
		{livePlatform{config.KindDiscord, discord.DefaultChannel, map[string]string{"api_base": p.discord}}, map[string]string{"DISCORD_BOT_TOKEN": discordToken}},
		{livePlatform{config.KindSlack, channel, map[string]string{"api_base": p.slack + "/api/"}}, map[string]string{"SLACK_BOT_TOKEN": "xoxb-1-secret", "SLACK_APP_TOKEN": "xapp-1-secret"}},
	} {
		t.Run(c.platform.kind, func(t *testing.T) {
			t.Parallel()
			kind, _ := setupKindOf(c.platform.kind)
			values, missing := liveKeys(kind, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
			if len(missing) > 0 {
				t.Fatalf("missing %q", missing)
			}
			roundTrip(t, c.platform, draft{
				baseURL: p.world.ModelURL + "/v1", modelKey: goodKey, model: "standin",
				platforms: []draftPlatform{{kind: c.platform.kind, values: values}},
			})
		})
	}
}
