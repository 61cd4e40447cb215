package homeassistant

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// services returns all services of the house by their names, such as light.turn_on. targets contains the names of the
// legacy notify actions. Sources: homeassistant/components/<domain>/services.yaml.
func services(targets []string) map[string]service {
	all := map[string]service{
		"lock.lock":                        {entity: true, fields: schema{"code": optionalField(textField)}, run: setState("locked")},
		"lock.unlock":                      {entity: true, fields: schema{"code": optionalField(textField)}, run: setState("unlocked")},
		"lock.open":                        {entity: true, fields: schema{"code": optionalField(textField)}, run: setState("open")},
		"cover.open_cover":                 {entity: true, run: setState("open")},
		"cover.close_cover":                {entity: true, run: setState("closed")},
		"cover.set_cover_position":         {entity: true, fields: schema{"position": requiredField(numberField)}, run: setPosition},
		"alarm_control_panel.alarm_disarm": {entity: true, fields: schema{"code": optionalField(textField)}, run: setState("disarmed")},
		"alarm_control_panel.alarm_arm_home": {
			entity: true, fields: schema{"code": optionalField(textField)}, run: setState("armed_home"),
		},
		"alarm_control_panel.alarm_arm_away": {
			entity: true, fields: schema{"code": optionalField(textField)}, run: setState("armed_away"),
		},
		"climate.set_temperature": {entity: true, run: setTemperature, fields: schema{
			"temperature": optionalField(numberField), "target_temp_high": optionalField(numberField), "target_temp_low": optionalField(numberField),
			"hvac_mode": optionalField(strictField),
		}},
		"climate.set_hvac_mode": {entity: true, fields: schema{"hvac_mode": requiredField(strictField)}, run: setMode},
		"weather.get_forecasts": {
			entity: true, response: onlyResponse, fields: schema{"type": requiredField(strictField)}, run: forecasts,
		},
		"conversation.process": {response: maybeResponse, fields: conversationFields(), run: func(s *Server, a *action) any {
			return s.processSentence(a.data, a.ctx)
		}},
	}
	for _, domain := range []string{"light", "switch", "input_boolean", "fan", coreDomain} {
		all[domain+".turn_on"] = service{entity: true, run: switchTo("on")}
		all[domain+".turn_off"] = service{entity: true, run: switchTo("off")}
		all[domain+".toggle"] = service{entity: true, run: switchTo("")}
	}
	light := schema{
		"transition": optionalField(numberField), "brightness": optionalField(numberField), "brightness_pct": optionalField(numberField),
		"rgb_color": optionalField(listField), "color_name": optionalField(strictField), "color_temp_kelvin": optionalField(numberField),
		"effect": optionalField(strictField), "flash": optionalField(strictField),
	}
	all["light.turn_on"] = service{entity: true, fields: light, run: switchTo("on")}
	all["light.toggle"] = service{entity: true, fields: light, run: switchTo("")}
	all["light.turn_off"] = service{entity: true, fields: schema{"transition": optionalField(numberField), "flash": optionalField(strictField)}, run: switchTo("off")}
	maps.Copy(all, notifyServices(targets))
	return all
}

// notifyServices returns the services that notify people. Sources:
// homeassistant/components/persistent_notification/__init__.py, homeassistant/components/notify/__init__.py.
func notifyServices(targets []string) map[string]service {
	legacy := schema{"message": requiredField(textField), "title": optionalField(textField), "target": optionalField(anyField), "data": optionalField(objectField)}
	all := map[string]service{
		Panel + ".create": {
			fields: schema{"message": requiredField(textField), "title": optionalField(textField), "notification_id": optionalField(textField)},
			run:    createNotification,
		},
		Panel + ".dismiss": {fields: schema{"notification_id": requiredField(textField)}, run: dismissNotification},
		Panel + ".dismiss_all": {run: func(s *Server, a *action) any {
			for _, id := range slices.Sorted(maps.Keys(s.current)) {
				s.dismissByBot(a.method(), id)
			}
			return nil
		}},
		"notify.persistent_notification": {fields: legacy, run: createNotification},
		"notify.send_message": {
			entity: true, fields: schema{"message": requiredField(textField), "title": optionalField(textField)}, run: sendMessage,
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

// setState returns a service that sets the state of each target entity to state.
func setState(state string) func(*Server, *action) any {
	return func(s *Server, a *action) any {
		for _, e := range a.entities {
			s.set(e.Entity, state, e.Attributes, a.ctx, false)
		}
		return nil
	}
}

// switchTo returns a service that switches each target entity on or off, or toggles it if state is "". The service also
// stores the call's other fields as attributes of the entity.
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
		s.set(e.Entity, state, withAttributes(e.Attributes, map[string]any{"current_position": int(position)}), a.ctx, false)
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
				panic(validationError("temp_out_of_range", fmt.Sprintf("Provided temperature %v is not valid. Accepted range is %v to %v", t, low, high)))
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
		s.set(e.Entity, state, withAttributes(e.Attributes, wanted), a.ctx, false)
	}
	return nil
}

func setMode(s *Server, a *action) any {
	mode := text(a.data, "hvac_mode")
	for _, e := range a.entities {
		if modes, ok := e.Attributes["hvac_modes"].([]any); ok && !slices.Contains(modes, any(mode)) {
			panic(validationError("not_valid_hvac_mode", fmt.Sprintf("HVAC mode %s is not valid. Valid HVAC modes are: %v", mode, modes)))
		}
	}
	return setState(mode)(s, a)
}

// forecasts returns a weather forecast for each target entity.
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

// dismissByBot removes a notification at the bot's request. dismissByBot returns no error if the notification does not
// exist. If the bot did not create the notification, dismissByBot records a violation.
func (s *Server) dismissByBot(method, id string) {
	if n := s.current[id]; n != nil && !n.FromBot {
		s.recordViolation(ForeignNotification, method, "notification "+id+" is not the bot's")
	}
	if s.dismiss(id, "bot") {
		s.stats.Dismissed++
	}
}

// sendMessage sends a message through each target notify entity. The state of a notify entity is the time of its last
// message.
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
