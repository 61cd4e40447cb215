package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// These are the built-in tools that use the configured Home Assistant.
const (
	ToolStates      = "ha_states"
	ToolCallService = "ha_call_service"
)

// These expressions match names of domains and entities in Home Assistant.
// https://www.home-assistant.io/docs/configuration/state_object/
var (
	homeDomain = regexp.MustCompile(`^[a-z0-9_]+$`)
	homeEntity = regexp.MustCompile(`^[a-z0-9_]+\.[a-z0-9_]+$`)
)

// Home returns the configured Home Assistant, or nil unless exactly one is configured.
func (c *Config) Home() *HomeAssistant {
	var found []*HomeAssistant
	for _, e := range c.Endpoints {
		if h, ok := e.Settings.(*HomeAssistant); ok {
			found = append(found, h)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// NoAccessReason returns the reason why the configuration gives nobody access to the bot, or "" if somebody has access. Home
// Assistant and API servers need no access rules. For Home Assistant, the watch keys select what the bot reacts to. Clients of
// an API server need an API key.
func (c *Config) NoAccessReason() string {
	for _, e := range c.Endpoints {
		if e.Kind != KindHomeAssistant && e.Kind != KindAPIServer {
			return c.Access.NoAccessReason()
		}
	}
	return ""
}

// validateHomeTools checks that exactly one Home Assistant is configured if a tool uses it.
func (d *decoder) validateHomeTools(c *Config) {
	const at = "tools.enabled"
	if !d.isValid(at) || !d.isValid("platforms") || c.Home() != nil {
		return
	}
	for i, name := range c.Tools.Enabled {
		if name == ToolStates || name == ToolCallService {
			d.failAt(d.at(fmt.Sprintf("%s.%d", at, i)), "configure one under platforms, with its url and token",
				"%s needs exactly one endpoint of kind %s, in %s", name, KindHomeAssistant, at)
			return
		}
	}
}

func (d *decoder) validateHomeAssistant(at string, h *HomeAssistant) {
	if key := join(at, "url"); d.isSet(key) { // requireKeys has already reported a missing URL
		d.validateURL(key, &h.URL)
	}
	const entityHint = "write a whole entity id, such as light.kitchen"
	d.validateNames(join(at, "watch_domains"), h.WatchDomains, homeDomain, "write the part of an entity id before the dot, such as light")
	d.validateNames(join(at, "watch_entities"), h.WatchEntities, homeEntity, entityHint)
	d.validateNames(join(at, "ignore_entities"), h.IgnoreEntities, homeEntity, entityHint)
	if slices.Contains(h.WatchDomains, "notify") || slices.ContainsFunc(h.WatchEntities, func(e string) bool { return strings.HasPrefix(e, "notify.") }) {
		d.failAt(d.at(at), "watch other entities", "%s watches the domain notify, whose entities change with every answer", displayPath(at))
	}
	key := join(at, "notify")
	switch name, found := strings.CutPrefix(h.Notify, "notify."); {
	case h.Notify == "" || !d.isValid(key):
	case !found || !homeDomain.MatchString(name):
		d.failAt(d.at(key), "write an entity or an action of the domain notify, such as notify.mobile_app_phone", "invalid %s: %s", displayPath(key), d.quotedAt(key))
	case name == "send_message":
		d.failAt(d.at(key), "write the entity that receives the notification, such as notify.phone", "%s names no target", displayPath(key))
	}
}

// validateNames checks that each name in a list matches the regular expression valid.
func (d *decoder) validateNames(at string, names []string, valid *regexp.Regexp, hint string) {
	for i, name := range names {
		if one := fmt.Sprintf("%s.%d", at, i); d.isValid(one) && !valid.MatchString(name) {
			d.failAt(d.at(one), hint, "invalid name %s in %s", d.quotedAt(one), displayPath(at))
		}
	}
}
