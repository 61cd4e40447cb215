package app

import (
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/homeassistant"
)

// Even if the access rules refuse everybody, the bot must answer when Home Assistant reports changes of the watched
// entities.
func TestHomeAssistantIsLetIn(t *testing.T) {
	t.Parallel()
	c := &config.Config{Endpoints: config.Endpoints{
		{Name: "telegram", Kind: config.KindTelegram}, {Name: "house", Kind: config.KindHomeAssistant},
	}}
	r := rules(c, "")
	at := func(endpoint string, user chat.UserID) bool {
		return r.Allows(chat.Conversation{Endpoint: chat.EndpointID(endpoint), Chat: homeassistant.Chat}, user)
	}
	if !at("house", homeassistant.User) || at("house", "somebody") || at("telegram", homeassistant.User) {
		t.Errorf("the rules are %+v", r)
	}
	if r.Admin(chat.Person{Endpoint: "house", User: homeassistant.User}) {
		t.Error("an installation is an admin")
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for turns, want := range map[int]time.Duration{0: 2 * time.Second, 1: time.Minute, 10: 6 * time.Second, 1000: 2 * time.Second} {
		if got := pause(config.AccessLimits{TurnsPerMinute: turns}); got != want {
			t.Errorf("with %d turns a minute: %v, want %v", turns, got, want)
		}
	}
}
