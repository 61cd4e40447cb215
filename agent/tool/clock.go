package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a small server may have no time zone database; this package adds one of 0.45 MB

	"github.com/google/jsonschema-go/jsonschema"

	"telex/agent"
)

const (
	maxZones = 20
	shown    = "Monday, 2 January 2006, 15:04:05 -07:00 (MST)"
)

type clockArgs struct {
	Zones []string `json:"zones,omitempty" jsonschema:"IANA time zones to tell the time in, such as Europe/Berlin or America/New_York, or offsets such as +02:00; left out: the default zone"`
	Time  string   `json:"time,omitempty" jsonschema:"the time to convert, such as 2026-03-29T14:00 or 2026-03-29T14:00:00+02:00, or a time of today such as 14:00; left out: now"`
	From  string   `json:"from,omitempty" jsonschema:"the zone that a time without an offset is in; left out: the default zone"`
}

type clock struct{ zone *time.Location }

// newClock returns the tool named time. zone is the default time zone; if zone is nil, it is UTC.
func newClock(zone *time.Location) (agent.ToolDef, error) {
	if zone == nil {
		zone = time.UTC
	}
	c := clock{zone}
	return define(agent.ToolDef{
		Name: "time",
		Description: "Tells the current date and time, in any time zones, and converts times between them. " +
			"The default zone is " + zoneName(zone) + ".",
		ReadOnly: true, Outside: agent.OutsideNothing, Timeout: 5 * time.Second,
		Show: func(arguments string) string {
			if _, converts := partial(arguments, "time"); converts {
				return "Converting a time"
			}
			return "Looking at the clock"
		},
	}, func(s *jsonschema.Schema) {
		zones := s.Properties["zones"]
		zones.Type, zones.Types = "array", nil // without null: some providers accept only one type
		zones.MaxItems = new(maxZones)
	}, c.call)
}

func zoneName(l *time.Location) string {
	if l == time.Local {
		return "that of the server, " + time.Now().Format("MST")
	}
	return l.String()
}

func (c clock) call(_ context.Context, _ agent.Input, args clockArgs) (agent.Output, error) {
	from, err := c.location(args.From)
	if err != nil {
		return agent.Output{}, err
	}
	at, note := time.Now(), ""
	if args.Time != "" {
		if at, note, err = parseTime(args.Time, from); err != nil {
			return agent.Output{}, err
		}
	}
	zones := args.Zones
	if len(zones) == 0 {
		zones = []string{""}
	}
	var text strings.Builder
	for _, name := range zones {
		zone, err := c.location(name)
		if err != nil {
			return agent.Output{}, err
		}
		fmt.Fprintln(&text, tell(at.In(zone), name))
	}
	text.WriteString(note)
	return agent.Output{Text: strings.TrimSpace(text.String())}, nil
}

func tell(t time.Time, name string) string {
	if name == "" {
		name = t.Location().String()
	}
	year, week := t.ISOWeek()
	summer := ""
	if t.IsDST() {
		summer = ", daylight saving time"
	}
	return fmt.Sprintf("%s: %s%s, ISO week %d-W%02d, Unix %d", name, t.Format(shown), summer, year, week, t.Unix())
}

// offset matches a zone such as +02:00, UTC+2 or GMT-0330.
var offset = regexp.MustCompile(`^(?i:UTC|GMT)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?$`)

// location returns the zone with the given name or offset. An empty name means the default zone.
func (c clock) location(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "", strings.EqualFold(name, "local"):
		return c.zone, nil
	case strings.EqualFold(name, "z"):
		return time.UTC, nil
	}
	if m := offset.FindStringSubmatch(name); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi("0" + m[3])
		if hours > 14 {
			return nil, fmt.Errorf("no time zone is %s from UTC", name)
		}
		seconds := hours*3600 + minutes*60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone("UTC"+time.Unix(0, 0).In(time.FixedZone("", seconds)).Format("-07:00"), seconds), nil
	}
	for _, spelled := range []string{name, strings.ToUpper(name), canonicalName(name)} {
		if zone, err := time.LoadLocation(spelled); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("unknown time zone %q; use an IANA name such as Europe/Berlin, or an offset such as +02:00", name)
}

// canonicalName returns a zone's name as the time zone database writes it. For example, "america/new york" becomes
// America/New_York.
func canonicalName(name string) string {
	b := []byte(strings.ToLower(strings.ReplaceAll(name, " ", "_")))
	for i := range b {
		if (i == 0 || b[i-1] == '/' || b[i-1] == '_' || b[i-1] == '-') && 'a' <= b[i] && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// parseTime parses a time. parseTime reads a time without an offset as a time in the given zone. When clocks go forward or
// back, a time without an offset may not exist, or may exist twice; note warns the model about such a time.
func parseTime(s string, zone *time.Location) (at time.Time, note string, err error) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", time.RFC1123Z, time.DateOnly,
	} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return at, "", nil
		}
	}
	if s, isTime := strings.CutPrefix(s, "@"); isTime {
		if seconds, err := strconv.ParseInt(s, 10, 64); err == nil && seconds > -1<<36 && seconds < 1<<37 {
			return time.Unix(seconds, 0), "", nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return at, clockChangeNote(at, s, layout), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04", "3:04 PM", "3:04PM", "3 PM", "3PM"} {
		if clock, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			y, m, d := time.Now().In(zone).Date()
			at := time.Date(y, m, d, clock.Hour(), clock.Minute(), clock.Second(), 0, zone)
			return at, clockChangeNote(at, clock.Format("15:04"), "15:04"), nil
		}
	}
	return time.Time{}, "", errors.New("invalid time; use one such as 2026-03-29T14:00 or 2026-03-29T14:00:00+02:00")
}

// clockChangeNote returns a warning for the model if clocks go forward or back at the time that was written as s. When clocks
// go forward or back, a local time does not exist, or exists twice.
func clockChangeNote(at time.Time, s, layout string) string {
	if at.Format(layout) != s {
		return "Clocks go forward then: " + s + " does not exist in that zone."
	}
	if at.Add(-time.Hour).Format(layout) == s || at.Add(time.Hour).Format(layout) == s {
		return "Clocks go back then: " + s + " exists twice in that zone, an hour apart."
	}
	return ""
}
