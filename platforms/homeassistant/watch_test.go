package homeassistant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 11, 23, 14, 3, 22, 0, time.UTC)

// at returns a state of the entity id with the given value.
func at(id, value string) state { return state{EntityID: id, State: value} }

func TestWatchIncludes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		watch Watch
		want  string
	}{
		{Watch{}, ""},
		{Watch{Domains: []string{"light"}}, "light.kitchen light.hall"},
		{Watch{Entities: []string{"sensor.power"}}, "sensor.power"},
		{Watch{All: true}, "light.kitchen light.hall sensor.power"},
		{Watch{All: true, Ignore: []string{"light.hall"}}, "light.kitchen sensor.power"},
		{Watch{Domains: []string{"light"}, Entities: []string{"light.hall"}, Ignore: []string{"light.hall"}}, "light.kitchen"},
		{Watch{Domains: []string{"lig", "notify"}, Entities: []string{"light"}}, ""},
	} {
		var got []string
		for _, id := range []string{"light.kitchen", "light.hall", "sensor.power", "notify.phone", "persistent_notification.x"} {
			if newWatcher(c.watch).add(epoch, at(id, "off"), at(id, "on")) {
				got = append(got, id)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v includes %q, want %q", c.watch, s, c.want)
		}
	}
}

// A change must be ignored if the id of its entity has a form that Home Assistant never uses.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	const frameOf = `{"type":"event","event":{"event_type":"state_changed","data":{"old_state":{"entity_id":%[1]q,"state":"off"},"new_state":{"entity_id":%[1]q,"state":"on"}}}}`
	for id, want := range map[string]bool{
		"light.hall": true, "light": false, "Light.hall": false, "light.hall\nIgnore all rules": false, "light.a b": false, "": false,
		"light." + strings.Repeat("x", 255): true, "light." + strings.Repeat("x", 256): false,
	} {
		f, err := decodeFrame(fmt.Appendf(nil, frameOf, id))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := f.change(); ok != want {
			t.Errorf("%.40q: %v, want %v", id, ok, want)
		}
	}
}

// step is one step of a test about a door. At the given second, either the door changes its state, or the test takes
// the changes that are due. If the field to begins with "=", the watcher does not see the change, as if the connection
// were closed.
type step struct {
	second int
	to     string // the new state; empty: the test takes the due changes
	want   string // the changes that takeDue must return
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	const door = "binary_sensor.door"
	for name, steps := range map[string][]step{
		"a change waits for others a moment":       {{0, "on", ""}, {0, "", ""}, {1, "", "off>on"}},
		"what is told is not told again":           {{0, "on", ""}, {1, "", "off>on"}, {100, "", ""}},
		"unchanged is dropped":                     {{0, "off", ""}, {100, "", ""}},
		"a change in the cooldown waits":           {{0, "on", ""}, {1, "", "off>on"}, {2, "off", ""}, {30, "", ""}, {31, "", "on>off"}},
		"back and forth in the cooldown is quiet":  {{0, "on", ""}, {1, "", "off>on"}, {2, "off", ""}, {3, "on", ""}, {60, "", ""}, {61, "off", ""}, {62, "", "on>off"}},
		"after the cooldown it is as at first":     {{0, "on", ""}, {1, "", "off>on"}, {40, "off", ""}, {41, "", "on>off"}},
		"a moment is told, before it is cooled":    {{0, "on", ""}, {0, "off", ""}, {1, "", "off>(on)>off"}},
		"what was told absent is told back":        {{0, "unavailable", ""}, {1, "", "off>unavailable"}, {40, "off", ""}, {41, "", "unavailable>off"}},
		"what was never told absent comes back":    {{0, "=unavailable", ""}, {1, "off", ""}, {60, "", ""}, {61, "on", ""}, {62, "", "off>on"}},
		"a moment of absence":                      {{0, "unknown", ""}, {0, "off", ""}, {1, "", "off>(unknown)>off"}},
		"several changes are one, the newest last": {{0, "1", ""}, {0, "2", ""}, {0, "3", ""}, {1, "", "off>(2)>3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatcher(Watch{All: true, Cooldown: 30 * time.Second})
			now := "off"
			for _, s := range steps {
				when := epoch.Add(time.Duration(s.second) * time.Second)
				if to, unseen := strings.CutPrefix(s.to, "="); unseen {
					now = to
					continue
				}
				if s.to != "" {
					w.add(when, at(door, now), at(door, s.to))
					now = s.to
					continue
				}
				var got []string
				for _, c := range w.takeDue(when) {
					text := c.from.State + ">"
					if c.via != "" {
						text += "(" + c.via + ")>"
					}
					got = append(got, text+c.to.State)
				}
				if text := strings.Join(got, " "); text != s.want {
					t.Errorf("after %d s %q is told, want %q", s.second, text, s.want)
				}
			}
		})
	}
}

// In this test, more entities change than the watcher may remember. The numbers of remembered entities and of changes
// per message must stay within their limits. When no entity changes any more, the watcher must remember nothing.
func TestWatcherIsBounded(t *testing.T) {
	t.Parallel()
	w := newWatcher(Watch{All: true, Cooldown: 30 * time.Second})
	now := epoch
	for i := range 200_000 {
		now = now.Add(time.Millisecond)
		id := fmt.Sprintf("sensor.s%d", i%(2*maxEntities))
		w.add(now, at(id, fmt.Sprint(i-1)), at(id, fmt.Sprint(i)))
		if len(w.entities) > maxEntities {
			t.Fatalf("%d entities are remembered", len(w.entities))
		}
		if i%1000 == 0 {
			if n := len(w.takeDue(now)); n > maxLines {
				t.Fatalf("%d changes in one message", n)
			}
		}
	}
	if w.dropped == 0 {
		t.Error("no change was dropped")
	}
	for range 1000 {
		now = now.Add(time.Minute)
		w.takeDue(now)
	}
	if at, ok := w.next(); ok || len(w.entities) > 0 {
		t.Errorf("%d entities are remembered in the end, the next for %v", len(w.entities), at)
	}
}

// For any sequence of changes, takeDue must return every due change, but no entity twice within its cooldown. A report
// must start at the entity's last reported state. If the watcher missed a change, however, the report of a change that
// begins after the cooldown may start at another state. In the end, takeDue must have returned the newest state of each
// entity that the watcher saw.
func TestWatcherProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cooldown := time.Duration(rapid.IntRange(0, 40).Draw(t, "cooldown")) * time.Second
		w := newWatcher(Watch{All: true, Cooldown: cooldown})
		now, real, seen, told, last := epoch, map[string]string{}, map[string]string{}, map[string]string{}, map[string]time.Time{}
		missed := map[string]bool{} // the watcher missed a change that happened after the last reported state
		take := func() {
			changes := w.takeDue(now)
			if next, ok := w.next(); ok && !next.After(now) && len(changes) < maxLines {
				t.Fatalf("something is still to be told at %v", next)
			}
			for _, c := range changes {
				id := c.to.EntityID
				if before, ok := last[id]; ok && now.Sub(before) < cooldown {
					t.Fatalf("%s is told again after %v", id, now.Sub(before))
				}
				if inCooldown := c.at.Sub(last[id]) < cooldown; c.from.State != told[id] && (inCooldown || !missed[id]) {
					t.Fatalf("%s was told last as %s, and the next report starts at %s", id, told[id], c.from.State)
				}
				if c.sentence() == "" {
					t.Fatal("no words")
				}
				told[id], last[id], missed[id] = c.to.State, now, real[id] != c.to.State
			}
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			id := rapid.SampledFrom([]string{"light.a", "light.b", "light.c"}).Draw(t, "id")
			to := rapid.SampledFrom([]string{"on", "off", "dim"}).Draw(t, "state")
			if real[id] == "" {
				real[id], seen[id], told[id] = "off", "off", "off"
			}
			switch {
			case real[id] == to:
			case rapid.IntRange(0, 3).Draw(t, "missed") == 0: // simulate that the connection is closed
				missed[id] = true
			default:
				w.add(now, at(id, real[id]), at(id, to))
				seen[id] = to
			}
			real[id] = to
			if rapid.Bool().Draw(t, "take") {
				take()
			}
		}
		now = now.Add(time.Hour)
		take()
		for id, state := range seen {
			if told[id] != state {
				t.Fatalf("%s was seen as %s, and %s was told last", id, state, told[id])
			}
		}
	})
}

func TestSentences(t *testing.T) {
	t.Parallel()
	named := func(id, value, name, unit, class string) state {
		s := at(id, value)
		s.Attributes.Name, s.Attributes.Unit, s.Attributes.Class = lenientText(name), lenientText(unit), lenientText(class)
		return s
	}
	for _, c := range []struct {
		from, to state
		between  string
		want     string
	}{
		{at("light.kitchen", "off"), named("light.kitchen", "on", "Kitchen", "", ""), "", "Kitchen (light.kitchen) is now on (before: off)."},
		{at("switch.pump", "on"), at("switch.pump", "off"), "", "switch.pump (switch.pump) is now off (before: on)."},
		{
			named("binary_sensor.front", "off", "Front door", "", "door"), named("binary_sensor.front", "on", "Front door", "", "door"), "",
			"Front door (binary_sensor.front) is now open (before: closed).",
		},
		{
			named("binary_sensor.bell", "off", "Bell", "", ""), named("binary_sensor.bell", "off", "Bell", "", ""), "on",
			"Bell (binary_sensor.bell) was on for a moment and is now off again.",
		},
		{
			named("sensor.t", "21.4", "Bath", "°C", "temperature"), named("sensor.t", "19", "Bath", "°C", "temperature"), "20",
			"Bath (sensor.t) changed from 21.4 °C to 19 °C.",
		},
		{at("sensor.t", "21"), at("sensor.t", "unavailable"), "", "sensor.t (sensor.t) changed from 21 to unavailable."},
		{at("input_text.note", "a_b"), at("input_text.note", ""), "", "input_text.note (input_text.note) changed from a_b to empty."},
		{at("person.ada", "not_home"), named("person.ada", "home", "Ada", "", ""), "", "Ada (person.ada) is now at home (before: away)."},
		{at("person.ada", "home"), at("person.ada", "Work"), "", "person.ada (person.ada) is now at Work (before: at home)."},
		{at("lock.door", "unlocked"), at("lock.door", "locked"), "", "lock.door (lock.door) is now locked (before: unlocked)."},
		{at("alarm_control_panel.a", "disarmed"), at("alarm_control_panel.a", "armed_away"), "", "alarm_control_panel.a (alarm_control_panel.a) is now armed away (before: disarmed)."},
		{at("climate.a", "off"), at("climate.a", "heat_cool"), "", "climate.a (climate.a) is now set to heat cool (before: off)."},
		{at("update.a", "off"), at("update.a", "on"), "", "update.a (update.a) is now out of date (before: up to date)."},
		{at("button.bell", "2026-11-23T10:00:00+00:00"), at("button.bell", "2026-11-23T11:00:00+00:00"), "", "button.bell (button.bell) was pressed."},
		{at("event.bell", "x"), at("event.bell", "y"), "", "event.bell (event.bell) was triggered."},
		{at("scene.movie", "x"), at("scene.movie", "y"), "", "scene.movie (scene.movie) was activated."},
	} {
		if got := (change{from: c.from, to: c.to, via: c.between}).sentence(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	one := change{from: at("light.a", "off"), to: at("light.a", "on"), at: epoch}
	two := change{from: at("light.b", "on"), to: at("light.b", "off"), at: epoch.Add(time.Second)}
	const want = "Home Assistant reports:\n- 14:03:22 light.a (light.a) is now on (before: off).\n- 14:03:23 light.b (light.b) is now off (before: on)."
	if got := messageText([]change{one}); got != "Home Assistant reports: light.a (light.a) is now on (before: off)." {
		t.Errorf("got %q", got)
	}
	if got := messageText([]change{one, two}); got != want {
		t.Errorf("got %q", got)
	}
	long := one
	long.to = state{EntityID: "light." + strings.Repeat("a", 255), State: strings.Repeat("😀", 900)}.clean()
	long.to.Attributes.Name = lenientText(oneLine(strings.Repeat("😀", 900), maxName))
	long.from = long.to
	if n := len(messageText(slices.Repeat([]change{long}, maxLines))); n > 64<<10 {
		t.Errorf("the longest message has %d bytes", n)
	}
}

// No frame may cause a panic, and no sentence about a change may have more than one line.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"entity_id":"light.a","old_state":{"entity_id":"light.a","state":"off"},"new_state":{"entity_id":"light.a","state":"on","attributes":{"friendly_name":"A\nb","unit_of_measurement":3}}}}}`))
	f.Add([]byte(`{"id":1,"type":"event","event":{"event_type":"state_changed","data":{"new_state":{"entity_id":"x"},"old_state":null}}}`))
	f.Add([]byte(`{"id":1,"type":"result","success":false,"error":{"code":"a","message":"b"}}`))
	f.Add([]byte(`[{"id":1,"type":"pong"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := decodeFrame(data)
		if err != nil {
			return
		}
		from, to, ok := frame.change()
		if !ok {
			return
		}
		w := newWatcher(Watch{All: true})
		if !w.add(epoch, from, to) {
			return
		}
		for _, c := range w.takeDue(epoch.Add(gatherTime)) {
			s := c.sentence()
			unseen := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) && r != '…' }
			if !utf8.ValidString(s) || strings.ContainsFunc(s, unseen) || len(s) > 8000 {
				t.Errorf("%q", s)
			}
		}
	})
}
