//go:build live

package app

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"telex/internal/config"
)

// placeEnv returns the name of the environment variable that contains the id of the chat in which to test a platform.
// placeEnv returns "" if the platform has only one chat.
func placeEnv(kind string) string {
	return map[string]string{
		config.KindTelegram: "TELEX_LIVE_TELEGRAM_CHAT", config.KindDiscord: "TELEX_LIVE_DISCORD_CHANNEL",
		config.KindSlack: "TELEX_LIVE_SLACK_CHANNEL", config.KindWhatsApp: "TELEX_LIVE_WHATSAPP_NUMBER",
	}[kind]
}

// TestLive calls roundTrip for each platform whose tokens are in the environment. `make test-live` runs this test.
// docs/operations.md says which variables to set. TestLive leaves the model's answer in the chat.
func TestLive(t *testing.T) {
	env := config.Env(os.LookupEnv)
	var wanted []string
	tried := 0
	for _, kind := range setupKinds() {
		if kind.kind == config.KindAPIServer {
			continue // the API server is telex itself, not a remote platform, so there is nothing to test here
		}
		values, missing := liveKeys(kind, env)
		place := placeEnv(kind.kind)
		if place != "" {
			wanted = append(wanted, kind.kind+": "+place)
		} else {
			wanted = append(wanted, kind.kind+":")
		}
		for _, k := range kind.keys {
			if k.secret && !k.random {
				wanted[len(wanted)-1] += " " + k.env
			}
		}
		if len(missing) > 0 {
			continue
		}
		tried++
		t.Run(kind.kind, func(t *testing.T) {
			p := livePlatform{kind: kind.kind, place: env.Value(place), extra: map[string]string{}}
			if place != "" && p.place == "" {
				t.Fatalf("set %s to where the bot may write", place)
			}
			if base := env.Value("TELEX_LIVE_" + strings.ToUpper(kind.kind) + "_API_BASE"); base != "" {
				p.extra["api_base"] = base
			}
			key := env.Value(modelKeyEnv)
			base := cmp.Or(env.Value("OPENAI_BASE_URL"), defaultBaseURL)
			if key == "" && base == defaultBaseURL {
				t.Fatalf("set %s, or OPENAI_BASE_URL to a model of your own", modelKeyEnv)
			}
			roundTrip(t, p, draft{
				baseURL: base, modelKey: key, model: cmp.Or(env.Value("OPENAI_MODEL"), defaultModel),
				platforms: []draftPlatform{{kind: kind.kind, values: values}},
			})
		})
	}
	if tried == 0 {
		t.Fatalf("no platform's tokens are in the environment. Set OPENAI_API_KEY, and for each platform to test:\n  %s", strings.Join(wanted, "\n  "))
	}
}
