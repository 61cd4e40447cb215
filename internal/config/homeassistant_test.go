package config

import (
	"slices"
	"testing"
	"time"
)

func TestHomeAssistant(t *testing.T) {
	t.Parallel()
	const house = "  homeassistant: {url: \"http://ha.local:8123/\", token: hidden"
	for _, c := range []struct{ name, text, want string }{
		{"no url", base + "  homeassistant: {token: hidden}\n", `4:3: missing key "url" in platforms.homeassistant; add "url: ..."`},
		{"no token", base + "  homeassistant: {url: \"http://ha.local:8123\"}\n", `4:3: missing key "token" in platforms.homeassistant; add "token: ${NAME}" or "token_file: PATH"`},
		{"url", base + "  homeassistant: {url: \"ha.local:8123\", token: hidden}\n", "4:19: invalid URL in platforms.homeassistant.url; write it as https://host/path"},
		{"domain", base + house + ", watch_domains: [light, light.kitchen]}\n", `4:87: invalid name "light.kitchen" in platforms.homeassistant.watch_domains; write the part of an entity id before the dot, such as light`},
		{"entity", base + house + ", watch_entities: [Kitchen]}\n", `4:81: invalid name "Kitchen" in platforms.homeassistant.watch_entities; write a whole entity id, such as light.kitchen`},
		{"ignored entity", base + house + ", ignore_entities: [\"light.*\"]}\n", `4:82: invalid name "light.*" in platforms.homeassistant.ignore_entities; write a whole entity id, such as light.kitchen`},
		{"a loop", base + house + ", watch_domains: [notify]}\n", "4:3: platforms.homeassistant watches the domain notify, whose entities change with every answer; watch other entities"},
		{"notify", base + house + ", notify: mobile_app_phone}\n", `4:64: invalid platforms.homeassistant.notify: "mobile_app_phone"; write an entity or an action of the domain notify, such as notify.mobile_app_phone`},
		{"no target", base + house + ", notify: notify.send_message}\n", "4:64: platforms.homeassistant.notify names no target; write the entity that receives the notification, such as notify.phone"},
		{"cooldown", base + house + ", cooldown: -1s}\n", "4:74: platforms.homeassistant.cooldown must be longer than 0, not \"-1s\""},
		{"a tool without one", base + "tools: {enabled: [time, ha_call_service]}\n", "4:25: ha_call_service needs exactly one endpoint of kind homeassistant, in tools.enabled; configure one under platforms, with its url and token"},
		{
			"a tool with two", base + house + "}\n  second: {kind: homeassistant, url: \"http://b:8123\", token: hidden}\ntools: {enabled: [ha_states]}\n",
			"6:19: ha_states needs exactly one endpoint of kind homeassistant, in tools.enabled; configure one under platforms, with its url and token",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("config.yaml", []byte(c.text), nil)
			checkErrors(t, err, []string{c.want})
		})
	}
	c := mustParse(t, base+house+", cooldown: 0, watch_entities: [light.a], notify: notify.phone}\ntools: {enabled: [ha_states, ha_call_service]}\n", nil)
	h := c.Home()
	if h == nil || h.URL != "http://ha.local:8123" || h.Cooldown != 0 || !slices.Equal(h.WatchEntities, []string{"light.a"}) || h.WatchAll || h.Notify != "notify.phone" {
		t.Errorf("%+v", h)
	}
	if h = mustParse(t, base+house+"}\n", nil).Home(); h.Cooldown != 30*time.Second || len(h.WatchDomains) != 0 {
		t.Errorf("the defaults are %+v", h)
	}
}

// People can't write to any of the configured endpoints. So the configuration must be valid although it gives nobody
// access.
func TestHomeAssistantNeedsNobody(t *testing.T) {
	t.Parallel()
	const alone = "models: [{name: a, model: b, api_key: c}]\nplatforms: {homeassistant: {url: \"http://ha.local:8123\", token: hidden}}\n"
	if got := mustParse(t, alone, nil).NoAccessReason(); got != "" {
		t.Errorf("a house alone: %q", got)
	}
	if got := mustParse(t, base, nil).NoAccessReason(); got == "" {
		t.Error("a bot that nobody may talk to is no doubt")
	}
}
