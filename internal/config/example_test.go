package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const exampleFile = "../../config.yaml.example"

func TestExampleParses(t *testing.T) {
	t.Parallel()
	c, err := Load(exampleFile, exampleEnv)
	if err != nil {
		t.Fatalf("the example has errors:\n%v", err)
	}
	if err := c.CheckRun(); err != nil {
		t.Errorf("CheckRun = %v, want nil", err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings = %q, want none", c.Warnings)
	}
	if !c.Streaming("telegram", time.Second).Enabled {
		t.Error("the example doesn't stream, want streaming.enabled: true")
	}
}

// The example configuration must set each key that has a default to this default.
func TestExampleStatesDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(exampleFile, exampleEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.StreamingSection.Enabled = true
	var m Model
	m.setDefaults()
	m.Name, m.Model, m.APIKey = "main", "gpt-5-mini", NewSecret("1:value-of-OPENAI_API_KEY")
	want.Models = []Model{m}
	e := Endpoint{Name: "telegram", Kind: KindTelegram, Settings: newSettings(KindTelegram)}
	settingsOf[Telegram](e).Token = NewSecret("1:value-of-TELEGRAM_BOT_TOKEN")
	want.Endpoints = Endpoints{e}
	got := *c
	got.file, got.positions, got.sensitive = "", nil, nil
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("the example gives\n%+v\nwant the defaults\n%+v", &got, want)
	}
}

// The test removes the # before every setting in the example configuration. When the test parses the changed example, the
// only allowed errors are those that say "not built yet". The example must contain every key of the schema.
func TestExampleKnowsTheSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	text, switched := uncomment(string(data))
	if switched < 50 {
		t.Fatalf("%d settings are switched off in the example, want at least 50: is the mark still # without a space?", switched)
	}
	d, _ := decodeText(text)
	for _, e := range d.errs {
		if !strings.HasSuffix(e.Message, "not built yet") {
			t.Errorf("the example, switched on: %v", e)
		}
	}
	for path := range schemaPaths() {
		if !d.anyPlace(path) && !d.inOtherEndpoint(path) {
			t.Errorf("%s is not in the example", path)
		}
	}
}

// In the example configuration, the section of each supported platform must become valid when only the # at the beginning of
// its lines is removed.
func TestExampleSections(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"discord", "slack", "slack-events", "api_server"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head, rest, ok := strings.Cut(string(data), "\n  #"+name+":\n")
			if !ok {
				t.Fatalf("the example has no section %s", name)
			}
			section, tail, _ := strings.Cut("  #"+name+":\n"+rest, "\n\n")
			section = regexp.MustCompile(`(?m)^  #(\S|  )`).ReplaceAllString(section, "  $1")
			c, err := Parse("config.yaml", []byte(head+"\n"+section+"\n\n"+tail), exampleEnv)
			if err != nil {
				t.Fatalf("the section, switched on, has errors:\n%v", err)
			}
			if len(c.Endpoints) != 2 || c.Endpoints[1].Name != name || len(c.Warnings) > 0 {
				t.Errorf("endpoints = %v, warnings = %q, want telegram and %s, none", c.Endpoints, c.Warnings, name)
			}
		})
	}
}

func exampleEnv(name string) (string, bool) {
	switch name {
	case envStreaming, envCredentials:
		return "", false
	}
	// Return example values in the format that the platforms use.
	switch {
	case strings.HasPrefix(name, "DISCORD_"):
		return "MTIzNDU2Nzg5MDEyMzQ1Njc4.value.of-" + name, true
	case strings.HasSuffix(name, "_WEBHOOK_SECRET"):
		return "value-of-" + name, true
	case strings.HasSuffix(name, "SLACK_BOT_TOKEN"):
		return "xoxb-value-of-" + strings.ReplaceAll(name, "_", "-"), true
	case strings.HasSuffix(name, "SLACK_APP_TOKEN"):
		return "xapp-value-of-" + strings.ReplaceAll(name, "_", "-"), true
	}
	return "1:value-of-" + name, true
}

var switchedOff = regexp.MustCompile(`^( *)#(\S.*|  .*)$`)

// uncomment removes the # before the settings in the example configuration, and returns the number of these lines. uncomment
// counts a line as a setting if no space or two spaces follow the #.
func uncomment(text string) (string, int) {
	lines, count := strings.Split(text, "\n"), 0
	head := true
	for i, line := range lines {
		head = head && strings.HasPrefix(line, "#")
		if m := switchedOff.FindStringSubmatch(line); m != nil && !head && !prose(lines, i) {
			lines[i] = m[1] + m[2]
			count++
		}
	}
	return strings.Join(lines, "\n"), count
}

// prose reports whether line i continues a sentence of the comment above it. Line i continues a sentence if the line above it
// is a comment that does not end with a full stop.
func prose(lines []string, i int) bool {
	before := strings.TrimSpace(lines[i-1])
	return strings.HasPrefix(before, "# ") && !strings.HasSuffix(before, ".")
}

// decodeText parses a text like Parse, and also returns the decoder.
func decodeText(text string) (*decoder, *Config) {
	d := newDecoder("config.yaml", exampleEnv)
	return d, d.parse([]byte(text))
}

// anyPlace reports whether the configuration contains a path that matches the given pattern. In the pattern, * stands for any
// index or name.
func (d *decoder) anyPlace(pattern string) bool {
	want := strings.Split(pattern, ".")
	for path := range d.positions {
		parts := strings.Split(path, ".")
		if slices.EqualFunc(want, parts, func(w, p string) bool { return w == "*" || w == p }) {
			return true
		}
	}
	return false
}

// inOtherEndpoint reports whether any endpoint of the same kind of platform sets the key.
func (d *decoder) inOtherEndpoint(path string) bool {
	parts := strings.Split(path, ".")
	if parts[0] != "platforms" || len(parts) < 3 {
		return false
	}
	for name, kind := range d.endpoints {
		if kind == parts[1] && d.anyPlace(strings.Join(append([]string{"platforms", name}, parts[2:]...), ".")) {
			return true
		}
	}
	return false
}

// settingsOf returns an endpoint's settings, which must have the type *T.
func settingsOf[T any](e Endpoint) *T {
	s, ok := e.Settings.(*T)
	if !ok {
		panic(fmt.Sprintf("the settings are %T", e.Settings))
	}
	return s
}

// schemaPaths returns every key of the schema, by its path.
func schemaPaths() map[string]field {
	out := make(map[string]field)
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		switch {
		case t == reflect.TypeFor[Secret](), t == reflect.TypeFor[DSN](), t == reflect.TypeFor[Pattern](), t == reflect.TypeFor[time.Duration]():
			return
		case t == reflect.TypeFor[Endpoints]():
			for _, kind := range platformKinds() {
				walk(join(prefix, kind), valueOf(newSettings(kind)).Type())
			}
			return
		}
		switch t.Kind() {
		case reflect.Pointer:
			walk(prefix, t.Elem())
		case reflect.Slice:
			walk(join(prefix, "*"), t.Elem())
		case reflect.Struct:
			for _, f := range fieldsOf(t) {
				out[join(prefix, f.key)] = f
				// The section streaming.cli has the same keys as an endpoint's section below streaming, so don't list them twice.
				if prefix+"."+f.key != "streaming.cli" {
					walk(join(prefix, f.key), f.typ)
				}
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	walk("streaming.telegram", reflect.TypeFor[StreamingRule]())
	return out
}

// In the struct tags of the schema, every bound must be a number, and every numeric field must have bounds. The program itself
// does not check the struct tags.
func TestSchemaTags(t *testing.T) {
	t.Parallel()
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[Secret]() || typ == reflect.TypeFor[DSN]() || typ == reflect.TypeFor[Pattern]() {
			return
		}
		for _, f := range fieldsOf(typ) {
			for _, bound := range []string{f.tags.min, f.tags.max} {
				if _, err := strconv.ParseFloat(bound, 64); bound != "" && err != nil {
					t.Errorf("%s.%s: bound %q is no number", typ.Name(), f.key, bound)
				}
			}
			if numeric := f.typ.Kind() == reflect.Int || f.typ.Kind() == reflect.Float64; numeric && (f.tags.min == "" || f.tags.max == "") {
				t.Errorf("%s.%s: a number without bounds", typ.Name(), f.key)
			}
			walk(f.typ)
		}
	}
	walk(reflect.TypeFor[Config]())
	walk(reflect.TypeFor[StreamingRule]())
	for _, kind := range platformKinds() {
		settings := newSettings(kind)
		if settings == nil {
			t.Errorf("kind %s has no settings", kind)
			continue
		}
		walk(valueOf(settings).Type())
	}
}

// Load must fail for a file that does not exist, and for a directory.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	_, err := Load("testdata/none.yaml", nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a file that doesn't exist = %v, want os.ErrNotExist", err)
	}
	if _, err := Load(t.TempDir(), nil); err == nil {
		t.Error("Load of a directory = nil, want an error")
	}
}
