package tool

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"telex/agent"
)

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	tools, err := New(Options{Enabled: []string{Memory, Time, Fetch, Time}, Facts: &notes{}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, def := range tools.Tools() {
		names = append(names, def.Name)
		var schema struct {
			Type                 string                     `json:"type"`
			Properties           map[string]json.RawMessage `json:"properties"`
			AdditionalProperties json.RawMessage            `json:"additionalProperties"`
		}
		if err := json.Unmarshal(def.Parameters, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 {
			t.Errorf("%s has the schema %s", def.Name, def.Parameters)
		}
		t.Logf("%s %s", def.Name, def.Parameters)
		if !regexp.MustCompile(`^[a-z]+$`).MatchString(def.Name) { // an MCP server's tools have "_" in their names
			t.Errorf("%s may be the name of a server's tool", def.Name)
		}
		if def.Description == "" || def.Timeout == 0 || def.Show == nil || !def.ReadOnly {
			t.Errorf("%+v", def)
		}
	}
	if got := strings.Join(names, " "); got != "time fetch remember recall forget" {
		t.Errorf("the tools are %s", got)
	}
	if _, err := New(Options{Enabled: []string{"teleport"}}); err == nil {
		t.Error("a tool that is none was taken")
	}
	if _, err := New(Options{Enabled: []string{Memory}}); err == nil {
		t.Error("memory without a place was taken")
	}
	if none, err := New(Options{}); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	first, second := Fixed{{Name: "a", Description: "1"}, {Name: "b"}}, Fixed{{Name: "a", Description: "2"}, {Name: "c"}}
	box := Join(first, Join(second))
	got := box.Tools()
	if len(got) != 3 || got[0].Description != "1" || got[1].Name != "b" || got[2].Name != "c" {
		t.Errorf("%+v", got)
	}
	got[0] = agent.ToolDef{}
	if box.Tools()[0].Name != "a" || first[0].Name != "a" {
		t.Error("a caller changed the toolbox")
	}
}

// FuzzPartial cuts arguments anywhere. The value that partial finds must be a prefix of the final value.
func FuzzPartial(f *testing.F) {
	f.Add(`{"url":"https://example.org/a?b=c","from":3}`, 20)
	f.Add(`{"x":{"url":"no"},"url":"\u00e9\ud83d\ude00\\\" end"}`, 35)
	f.Add(`["url",{"url":"x"}]`, 9)
	f.Fuzz(func(t *testing.T, arguments string, at int) {
		cut := arguments[:max(0, min(at, len(arguments)))]
		early, done := partial(cut, "url")
		var whole struct {
			URL *string `json:"url"`
		}
		if !json.Valid([]byte(arguments)) || strings.Count(arguments, "url") != 1 || json.Unmarshal([]byte(arguments), &whole) != nil || whole.URL == nil ||
			strings.Contains(strings.ToLower(arguments), `\`) {
			return // the value can't be compared: it is missing, or it may contain escapes
		}
		if !strings.HasPrefix(*whole.URL, early) || done && early != *whole.URL {
			t.Errorf("%q became %q of %q", cut, early, *whole.URL)
		}
	})
}

// Go's JSON decoder ignores the case of field names. The check before an approval distinguishes upper and lower case, so a call
// with names in another case must be refused.
func TestNamesInAnotherCase(t *testing.T) {
	t.Parallel()
	tools, err := New(Options{Enabled: []string{Time}})
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`{"from":"UTC","FROM":"Asia/Tokyo"}`, `{"From":"UTC"}`} {
		if out, err := tools[0].Call(t.Context(), agent.Input{Arguments: arguments}); err == nil {
			t.Errorf("%s: got %q", arguments, out.Text)
		}
	}
}
