package rig_test

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"telex/standin/rig"
)

func TestReadForm(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	multi := "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n" +
		"--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\r\nDATA\r\n--X--\r\n"
	cases := []struct {
		name, method, path, kind, body string
		want                           map[string]string
		file                           string
		bad                            bool
	}{
		{name: "query", method: "GET", path: "/?a=1&b=x%20y", want: map[string]string{"a": "1", "b": "x y"}},
		{name: "form", method: "POST", path: "/", kind: form, body: "a=1&b=%7B%22x%22%3A1%7D", want: map[string]string{"a": "1", "b": `{"x":1}`}},
		{name: "body wins over query", method: "POST", path: "/?a=1", kind: form, body: "a=2", want: map[string]string{"a": "2"}},
		{name: "JSON", method: "POST", path: "/", kind: "application/json; charset=utf-8", body: `{"a":1,"b":"x","c":{"d":[1]},"e":true,"f":null}`, want: map[string]string{"a": "1", "b": "x", "c": `{"d":[1]}`, "e": "true"}},
		{name: "empty JSON", method: "POST", path: "/", kind: "application/json", want: map[string]string{}},
		{name: "multipart", method: "POST", path: "/", kind: "multipart/form-data; boundary=X", body: multi, want: map[string]string{"a": "1"}, file: "DATA"},
		{name: "no type", method: "POST", path: "/?a=1", body: "b=1", want: map[string]string{"a": "1"}},
		{name: "broken JSON", method: "POST", path: "/", kind: "application/json", body: `{"a":`, bad: true},
		{name: "JSON list", method: "POST", path: "/", kind: "application/json", body: `[1]`, bad: true},
		{name: "no boundary", method: "POST", path: "/", kind: "multipart/form-data", body: multi, bad: true},
		{name: "cut multipart", method: "POST", path: "/", kind: "multipart/form-data; boundary=X", body: multi[:strings.Index(multi, "DATA")+2], bad: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			r.Header.Set("Content-Type", tc.kind)
			got, err := rig.ReadForm(r, 1<<20)
			if (err != nil) != tc.bad {
				t.Fatalf("error: got %v, want one: %v", err, tc.bad)
			}
			if tc.bad {
				return
			}
			if !maps.Equal(got.Values, tc.want) {
				t.Errorf("values: got %q, want %q", got.Values, tc.want)
			}
			if data := string(got.Files["f"].Data); data != tc.file {
				t.Errorf("file: got %q, want %q", data, tc.file)
			}
		})
	}
}
