package tool

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in the bubble, it is midnight UTC on 2000-01-01
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		def, err := newClock(berlin)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ arguments, text, err string }{
			{`{}`, "Europe/Berlin: Saturday, 1 January 2000, 01:00:00 +01:00 (CET), ISO week 1999-W52, Unix 946684800", ""},
			{`{"zones":["Asia/Tokyo","america/new york","utc","UTC+5:30","-0330"]}`, "Asia/Tokyo: Saturday, 1 January 2000, 09:00:00 +09:00 (JST), ISO week 1999-W52, Unix 946684800\n" +
				"america/new york: Friday, 31 December 1999, 19:00:00 -05:00 (EST), ISO week 1999-W52, Unix 946684800\n" +
				"utc: Saturday, 1 January 2000, 00:00:00 +00:00 (UTC), ISO week 1999-W52, Unix 946684800\n" +
				"UTC+5:30: Saturday, 1 January 2000, 05:30:00 +05:30 (UTC+05:30), ISO week 1999-W52, Unix 946684800\n" +
				"-0330: Friday, 31 December 1999, 20:30:00 -03:30 (UTC-03:30), ISO week 1999-W52, Unix 946684800", ""},
			{`{"time":"2026-07-01T12:00","from":"America/New_York"}`, "Europe/Berlin: Wednesday, 1 July 2026, 18:00:00 +02:00 (CEST), daylight saving time, ISO week 2026-W27, Unix 1782921600", ""},
			{`{"time":"2026-07-01T12:00:00Z","zones":["UTC"]}`, "UTC: Wednesday, 1 July 2026, 12:00:00 +00:00 (UTC), ISO week 2026-W27, Unix 1782907200", ""},
			{`{"time":"3 pm","zones":["UTC"]}`, "UTC: Saturday, 1 January 2000, 14:00:00 +00:00 (UTC), ISO week 1999-W52, Unix 946735200", ""},
			{`{"time":"2026-07-01","zones":["UTC"],"from":"UTC"}`, "UTC: Wednesday, 1 July 2026, 00:00:00 +00:00 (UTC), ISO week 2026-W27, Unix 1782864000", ""},
			{`{"time":"@0","zones":["UTC"]}`, "UTC: Thursday, 1 January 1970, 00:00:00 +00:00 (UTC), ISO week 1970-W01, Unix 0", ""},
			{`{"time":"2026-03-29 02:30"}`, "does not exist in that zone", ""},
			{`{"time":"2026-10-25T02:30"}`, "exists twice in that zone", ""},
			{`{"zones":["Mars/Olympus"]}`, "", `unknown time zone "Mars/Olympus"`},
			{`{"zones":["../../etc/passwd"]}`, "", "unknown time zone"},
			{`{"zones":["+25"]}`, "", "no time zone is +25 from UTC"},
			{`{"time":"soon"}`, "", "invalid time"},
			{`{"zone":"UTC"}`, "", "do not fit the schema"},
		} {
			out, err := def.Call(t.Context(), agent.Input{Arguments: tt.arguments})
			switch {
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%s: %v", tt.arguments, err)
			case tt.err == "" && (err != nil || !strings.Contains(out.Text, tt.text)):
				t.Errorf("%s: %v\ngot  %s\nwant %s", tt.arguments, err, out.Text, tt.text)
			}
		}
	})
}
