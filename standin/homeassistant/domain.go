package homeassistant

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// services are all that exist, by domain.name. targets are the legacy notify actions.
// Sources: homeassistant/components/<domain>/services.yaml.
func services(targets []string) map[string]service {
	all := map[string]service{
		"lock.lock":                        {entity: true, fields: schema{"code": may(textField)}, run: become("locked")},
		"lock.unlock":                      {entity: true, fields: schema{"code": may(textField)}, run: become("unlocked")},
		"lock.open":                        {entity: true, fields: schema{"code": may(textField)}, run: become("open")},
		"cover.open_cover":                 {entity: true, run: become("open")},
		"cover.close_cover":                {entity: true, run: become("closed")},
		"cover.set_cover_position":         {entity: true, fields: schema{"position": need(numberField)}, run: setPosition},
		"alarm_control_panel.alarm_disarm": {entity: true, fields: schema{"code": may(textField)}, run: become("disarmed")},
		"alarm_control_panel.alarm_arm_home": {
			entity: true, fields: schema{"code": may(textField)}, run: become("armed_home"),
		},
		"alarm_control_panel.alarm_arm_away": {
			entity: true, fields: schema{"code": may(textField)}, run: become("armed_away"),
		},
		"climate.set_temperature": {entity: true, run: setTemperature, fields: schema{
			"temperature": may(numberField), "target_temp_high": may(numberField), "target_temp_low": may(numberField),
			"hvac_mode": may(strictField),
		}},
		"climate.set_hvac_mode": {entity: true, fields: schema{"hvac_mode": need(strictField)}, run: setMode},
		"weather.get_forecasts": {
			entity: true, response: onlyResponse, fields: schema{"type": need(strictField)}, run: forecasts,
		},
		"conversation.process": {response: maybeResponse, fields: conversationFields(), run: func(s *Server, a *action) any {
			return s.converse(a.data, a.ctx)
		}},
	}
	for _, domain := range []string{"light", "switch", "input_boolean", "fan", coreDomain} {
		all[domain+".turn_on"] = service{entity: true, run: switchTo("on")}
		all[domain+".turn_off"] = service{entity: true, run: switchTo("off")}
		all[domain+".toggle"] = service{entity: true, run: switchTo("")}
	}
	light := schema{
		"transition": may(numberField), "brightness": may(numberField), "brightness_pct": may(numberField),
		"rgb_color": may(listField), "color_name": may(strictField), "color_temp_kelvin": may(numberField),
		"effect": may(strictField), "flash": may(strictField),
	}
	all["light.turn_on"] = service{entity: true, fields: light, run: switchTo("on")}
	all["light.toggle"] = service{entity: true, fields: light, run: switchTo("")}
	all["light.turn_off"] = service{entity: true, fields: schema{"transition": may(numberField), "flash": may(strictField)}, run: switchTo("off")}
	maps.Copy(all, notifiers(targets))
	return all
}

// notifiers are the services that tell people something.
// Sources: homeassistant/components/persistent_notification/__init__.py, homeassistant/components/notify/__init__.py.
func notifiers(targets []string) map[string]service {
	legacy := schema{"message": need(textField), "title": may(textField), "target": may(anyField), "data": may(objectField)}
	all := map[string]service{
		Panel + ".create": {
			fields: schema{"message": need(textField), "title": may(textField), "notification_id": may(textField)},
			run:    createNotification,
		},
		Panel + ".dismiss": {fields: schema{"notification_id": need(textField)}, run: dismissNotification},
		Panel + ".dismiss_all": {run: func(s *Server, a *action) any {
			for _, id := range slices.Sorted(maps.Keys(s.current)) {
				s.dismissByBot(a.method(), id)
			}
			return nil
		}},
		"notify.persistent_notification": {fields: legacy, run: createNotification},
		"notify.send_message": {
			entity: true, fields: schema{"message": need(textField), "title": may(textField)}, run: sendMessage,
		},
	}
	for _, target := range targets {
		all["notify."+target] = service{fields: legacy, run: func(s *Server, a *action) any {
			s.send(a.method(), TextVersion{Method: a.method(), Title: text(a.data, "title"), Text: text(a.data, "message")})
			return nil
		}}
	}
	return all
}

// become sets the state of each entity.
func become(state string) func(*Server, *action) any {
	return func(s *Server, a *action) any {
		for _, e := range a.entities {
			s.set(e.Entity, state, e.Attributes, a.ctx, false)
		}
		return nil
	}
}

// switchTo switches each entity on or off, or "" to what it is not, and remembers what else the call says of it.
func switchTo(state string) func(*Server, *action) any {
	return func(s *Server, a *action) any {
		for _, e := range a.entities {
			next := state
			if next == "" {
				next = map[bool]string{true: "off", false: "on"}[e.State == "on"]
			}
			attributes := maps.Clone(e.Attributes)
			for _, name := range []string{"brightness", "rgb_color", "color_name", "color_temp_kelvin", "effect"} {
				delete(attributes, name)
				if v, ok := a.data[name]; ok && next == "on" {
					attributes[name] = v
				} else if old, had := e.Attributes[name]; had && next == "on" {
					attributes[name] = old
				}
			}
			if pct, ok := number(a.data, "brightness_pct"); ok && next == "on" {
				attributes["brightness"] = int(pct * 255 / 100)
			}
			s.set(e.Entity, next, attributes, a.ctx, false)
		}
		return nil
	}
}

func setPosition(s *Server, a *action) any {
	position, _ := number(a.data, "position")
	if position < 0 || position > 100 {
		s.require(a.method(), "value must be at most 100 for dictionary value @ data['position']")
	}
	state := "open"
	if position == 0 {
		state = "closed"
	}
	for _, e := range a.entities {
		s.set(e.Entity, state, with(e.Attributes, map[string]any{"current_position": int(position)}), a.ctx, false)
	}
	return nil
}

func setTemperature(s *Server, a *action) any {
	wanted := make(map[string]any)
	for _, name := range []string{"temperature", "target_temp_high", "target_temp_low"} {
		t, ok := number(a.data, name)
		if !ok {
			continue
		}
		wanted[name] = t
		for _, e := range a.entities {
			if low, high := floatOf(e.Attributes["min_temp"]), floatOf(e.Attributes["max_temp"]); t < low || t > high {
				panic(validation("temp_out_of_range", fmt.Sprintf("Provided temperature %v is not valid. Accepted range is %v to %v", t, low, high)))
			}
		}
	}
	if len(wanted) == 0 {
		s.require(a.method(), "must contain at least one of temperature, target_temp_high, target_temp_low.")
	}
	for _, e := range a.entities {
		state := e.State
		if mode := text(a.data, "hvac_mode"); mode != "" {
			state = mode
		}
		s.set(e.Entity, state, with(e.Attributes, wanted), a.ctx, false)
	}
	return nil
}

func setMode(s *Server, a *action) any {
	mode := text(a.data, "hvac_mode")
	for _, e := range a.entities {
		if modes, ok := e.Attributes["hvac_modes"].([]any); ok && !slices.Contains(modes, any(mode)) {
			panic(validation("not_valid_hvac_mode", fmt.Sprintf("HVAC mode %s is not valid. Valid HVAC modes are: %v", mode, modes)))
		}
	}
	return become(mode)(s, a)
}

// forecasts answers with a forecast for each entity.
func forecasts(_ *Server, a *action) any {
	out := object{}
	for _, e := range a.entities {
		out[e.Entity] = object{"forecast": []object{{"condition": "rainy", "temperature": 18.5, "templow": 11}}}
	}
	return out
}

func createNotification(s *Server, a *action) any {
	id := text(a.data, "notification_id")
	if more := asObject(a.data["data"]); more != nil {
		id = text(more, "notification_id")
	}
	s.show(id, TextVersion{Method: a.method(), Title: text(a.data, "title"), Text: text(a.data, "message")}, true)
	return nil
}

func dismissNotification(s *Server, a *action) any {
	s.dismissByBot(a.method(), text(a.data, "notification_id"))
	return nil
}

// dismissByBot removes a notification. One that is not there is no error; one that is not the bot's is a violation.
func (s *Server) dismissByBot(method, id string) {
	if n := s.current[id]; n != nil && !n.FromBot {
		s.violate(ForeignNotification, method, "notification "+id+" is not the bot's")
	}
	if s.dismiss(id, "bot") {
		s.stats.Dismissed++
	}
}

// sendMessage sends by notify entities, whose state is when they last did.
func sendMessage(s *Server, a *action) any {
	for _, e := range a.entities {
		v := TextVersion{Method: a.method(), Text: text(a.data, "message")}
		if int(floatOf(e.Attributes["supported_features"]))&1 != 0 {
			v.Title = text(a.data, "title")
		}
		s.set(e.Entity, Time{time.Now()}.String(), e.Attributes, a.ctx, false)
		s.send(e.Entity, v)
	}
	return nil
}
