package homeassistant

import (
	"cmp"
	"strings"
	"time"
)

// These are the domains of Home Assistant's entities that the package treats specially.
const (
	domainNotify     = "notify"
	domainPersistent = "persistent_notification"
)

// maxSentence is the maximum length of a sentence in characters. A message that consists of maxLines sentences of
// maxSentence characters is within the gateway's limit of 64 KiB.
const maxSentence = 300

// messageText returns the changes as the text of one message.
func messageText(changes []change) string {
	if len(changes) == 1 {
		return "Home Assistant reports: " + oneLine(changes[0].sentence(), maxSentence)
	}
	var b strings.Builder
	b.WriteString("Home Assistant reports:")
	for _, c := range changes {
		b.WriteString("\n- " + c.at.Format(time.TimeOnly) + " " + oneLine(c.sentence(), maxSentence))
	}
	return b.String()
}

// sentence describes a change, such as "Front door (binary_sensor.front_door) is now open (before: closed).".
func (c change) sentence() string {
	subject := cmp.Or(string(c.to.Attributes.Name), c.to.EntityID) + " (" + c.to.EntityID + ")"
	from, to := c.from.description(), c.to.description()
	between := ""
	if c.via != "" {
		via := c.to
		via.State = c.via
		between = via.description()
	}
	switch domain := c.to.domain(); {
	case domain == "button" || domain == "input_button": // the state of a button is the time of its last press
		return subject + " was pressed."
	case domain == "scene":
		return subject + " was activated."
	case domain == "event":
		return subject + " was triggered."
	case from == to:
		return subject + " was " + between + " for a moment and is now " + to + " again."
	case c.to.isMeasurement():
		return subject + " changed from " + from + " to " + to + "."
	}
	return subject + " is now " + to + " (before: " + from + ")."
}

func (s state) domain() string {
	domain, _, _ := strings.Cut(s.EntityID, ".")
	return domain
}

// isMeasurement reports whether the state is a measured value, such as a temperature.
func (s state) isMeasurement() bool {
	switch s.domain() {
	case "sensor", "number", "input_number", "input_text", "input_select", "input_datetime", "text", "select", "counter", "weather":
		return true
	}
	return s.Attributes.Unit != ""
}

// isAbsent reports whether Home Assistant currently knows no state of an entity, for example because a device is off.
// https://www.home-assistant.io/docs/configuration/state_object/
func (s state) isAbsent() bool { return s.State == "unavailable" || s.State == "unknown" }

// description returns a state in words that can follow "is now" in a sentence, such as "open", "at home" or "21.5 °C".
func (s state) description() string {
	word := s.State
	switch {
	case word == "":
		return "empty"
	case s.isAbsent():
		return word
	}
	switch domain := s.domain(); domain {
	case "binary_sensor":
		return binaryMeaning(string(s.Attributes.Class), word)
	case "person", "device_tracker":
		switch word {
		case "home":
			return "at home"
		case "not_home":
			return "away"
		}
		return "at " + word
	case "update":
		switch word {
		case "on":
			return "out of date"
		case "off":
			return "up to date"
		}
	case "climate", "water_heater", "humidifier":
		if word != "on" && word != "off" {
			return "set to " + strings.ReplaceAll(word, "_", " ")
		}
	}
	switch {
	case s.Attributes.Unit != "":
		return word + " " + string(s.Attributes.Unit)
	case s.isMeasurement():
		return word
	}
	return strings.ReplaceAll(word, "_", " ")
}

// binaryMeaning returns what the states "on" and "off" mean for a binary sensor of the given class, such as "open".
// https://www.home-assistant.io/integrations/binary_sensor/#device-class
func binaryMeaning(class, word string) string {
	meanings := map[string][2]string{
		"battery": {"low", "normal"}, "battery_charging": {"charging", "not charging"}, "carbon_monoxide": {"detecting carbon monoxide", "clear"},
		"cold": {"cold", "normal"}, "connectivity": {"connected", "disconnected"}, "door": {"open", "closed"}, "garage_door": {"open", "closed"},
		"gas": {"detecting gas", "clear"}, "heat": {"hot", "normal"}, "light": {"detecting light", "detecting no light"},
		"lock": {"unlocked", "locked"}, "moisture": {"wet", "dry"}, "motion": {"detecting motion", "clear"}, "moving": {"moving", "not moving"},
		"occupancy": {"detecting somebody", "clear"}, "opening": {"open", "closed"}, "plug": {"plugged in", "unplugged"},
		"power": {"detecting power", "detecting no power"}, "presence": {"at home", "away"}, "problem": {"reporting a problem", "OK"},
		"running": {"running", "not running"}, "safety": {"unsafe", "safe"}, "smoke": {"detecting smoke", "clear"},
		"sound": {"detecting sound", "clear"}, "tamper": {"reporting tampering", "clear"}, "update": {"out of date", "up to date"},
		"vibration": {"detecting vibration", "clear"}, "window": {"open", "closed"},
	}
	pair, ok := meanings[class]
	switch {
	case ok && word == "on":
		return pair[0]
	case ok && word == "off":
		return pair[1]
	}
	return word
}
