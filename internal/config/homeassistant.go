package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The built-in tools that use the configured Home Assistant.
const (
	ToolStates      = "ha_states"
	ToolCallService = "ha_call_service"
)

// What Home Assistant calls a domain, an entity and an action.
// https://www.home-assistant.io/docs/configuration/state_object/
var (
	homeDomain = regexp.MustCompile(`^[a-z0-9_]+$`)
	homeEntity = regexp.MustCompile(`^[a-z0-9_]+\.[a-z0-9_]+$`)
)

// Home returns the only configured Home Assistant, nil if there is none or more than one.
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

// Nobody says that nobody is let in, and why that is; empty when somebody is, or when nobody needs to be: what a Home Assistant
// tells is let in by what it watches, and programs by their keys.
func (c *Config) Nobody() string {
	for _, e := range c.Endpoints {
		if e.Kind != KindHomeAssistant && e.Kind != KindAPIServer {
			return c.Access.Nobody()
		}
	}
	return ""
}

// validateHomeTools checks that the tools for Home Assistant know which one is meant.
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
	if key := join(at, "url"); d.isSet(key) { // that it is missing was said
		d.validateURL(key, &h.URL)
	}
	const entityHint = "write a whole entity id, such as light.kitchen"
	d.validateNames(join(at, "watch_domains"), h.WatchDomains, homeDomain, "write what stands before the dot of an entity id, such as light")
	d.validateNames(join(at, "watch_entities"), h.WatchEntities, homeEntity, entityHint)
	d.validateNames(join(at, "ignore_entities"), h.IgnoreEntities, homeEntity, entityHint)
	if slices.Contains(h.WatchDomains, "notify") || slices.ContainsFunc(h.WatchEntities, func(e string) bool { return strings.HasPrefix(e, "notify.") }) {
		d.failAt(d.at(at), "watch other entities", "%s watches the domain notify, whose entities change with every answer", human(at))
	}
	key := join(at, "notify")
	switch name, found := strings.CutPrefix(h.Notify, "notify."); {
	case h.Notify == "" || !d.isValid(key):
	case !found || !homeDomain.MatchString(name):
		d.failAt(d.at(key), "write an entity or an action of the domain notify, such as notify.mobile_app_phone", "invalid %s: %s", human(key), d.shownAt(key))
	case name == "send_message":
		d.failAt(d.at(key), "write the entity that it is to be sent to, such as notify.phone", "%s names no target", human(key))
	}
}

// validateNames checks each name of a list.
func (d *decoder) validateNames(at string, names []string, valid *regexp.Regexp, hint string) {
	for i, name := range names {
		if one := fmt.Sprintf("%s.%d", at, i); d.isValid(one) && !valid.MatchString(name) {
			d.failAt(d.at(one), hint, "invalid name %s in %s", d.shownAt(one), human(at))
		}
	}
}
