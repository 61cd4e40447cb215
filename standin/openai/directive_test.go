package openai

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCutDirectives(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		message, text string
		settings      []setting
		fails         bool
	}{
		{message: "plain", text: "plain"},
		{message: "{{standin rate=20 jitter=0.3}} hi", text: "hi", settings: []setting{{"rate", "20"}, {"jitter", "0.3"}}},
		{message: "hi {{standin crlf}}", text: "hi", settings: []setting{{"crlf", ""}}},
		{message: "a {{standin cut=1}} b", text: "a b", settings: []setting{{"cut", "1"}}},
		{message: "a\n{{standin cut=1}}\nb", text: "a\n\nb", settings: []setting{{"cut", "1"}}},
		{message: "{{standin a=1}}{{standin b=2}}x", text: "x", settings: []setting{{"a", "1"}, {"b", "2"}}},
		{message: `{{standin say="two words }} \"q\"\n"}}x`, text: "x", settings: []setting{{"say", "two words }} \"q\"\n"}}},
		{message: "{{standin say=`raw \\n`}}x", text: "x", settings: []setting{{"say", `raw \n`}}},
		{message: "{{standin}}", text: ""},
		{message: "{{standing}} ovation", text: "{{standing}} ovation"},
		{message: "{{ standin x=1}}", text: "{{ standin x=1}}"},
		{message: "{{standin rate=20", fails: true},
		{message: `{{standin say="x}}`, fails: true},
		{message: "{{standin =5}}", fails: true},
		{message: "{{standin rate=}}", fails: true},
		{message: `{{standin say="a"b=1}}`, fails: true},
		{message: "{{standin RATE=5}}", fails: true},
	} {
		text, settings, err := cutDirectives(tc.message)
		if tc.fails {
			if err == nil {
				t.Errorf("cutDirectives(%q) = %q, %v, want an error", tc.message, text, settings)
			}
			continue
		}
		if err != nil || text != tc.text || !slices.Equal(settings, tc.settings) {
			t.Errorf("cutDirectives(%q) = %q, %q, %v, want %q, %q", tc.message, text, settings, err, tc.text, tc.settings)
		}
	}
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for _, do := range []string{
		"what=1", "rate=fast", "rate=NaN", "jitter=2", "jitter=NaN", "delay=1", "delay=-1s", "cut=-1", "cut=never", "fail=start",
		"eof=start", "fail_as=x", "status=200", "status=x", "body=pdf", "on=both", "usage=maybe", "think_as=x", "calls_as=x",
		"crlf=1", "empty=1", "as=xml", "require=x", `comment="a\nb"`, `content_type="a\r\nb"`, `retry_after="1\n"`, "chunk=99999999",
		"skip=x", "}}",
	} {
		settings, err := parseSettings(do)
		if err == nil {
			err = new(behaviour).apply(settings)
		}
		if err == nil {
			t.Errorf("settings %q were taken, want an error", do)
		}
	}
}

func TestSettingsAccepted(t *testing.T) {
	t.Parallel()
	for _, do := range []string{
		"on=plain", "skip=1 times=2", "rate=0", "rate=12.5 jitter=1", "delay=1ms first=2s stall=3 stall_for=1m", "chunk=8",
		`say="a b"`, "empty", "think=x think_as=open_tag_missing", "refusal=no", `finish=""`, `call="f {\"a\": 1}" call=g again`,
		"calls_as=gemini", "usage=each cached=7", "status=429 code=insufficient_quota message=no body=empty",
		"retry_after=2 retry_after_ms=1500 should_retry=false", "refuse=stream,tools require=reasoning_content,thought_signature",
		"cut=start", "eof=finish", "hang=usage", "fail=text fail_as=event",
		"comment_every=3 comment_interval=1s comment=x noise=2 pad=100 crlf nospace multiline no_last_newline as=html",
		`content_type="text/plain"`,
	} {
		settings, err := parseSettings(do)
		if err == nil {
			err = new(behaviour).apply(settings)
		}
		if err != nil {
			t.Errorf("settings %q: %v", do, err)
		}
	}
}

// TestSettingsDocumented compares the keys in the code with those in the package comment.
func TestSettingsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	settings := new(behaviour).settings()
	for key := range settings {
		if !regexp.MustCompile(`(?m)^//\t([a-z_]+=\S+ )*` + key + `\b`).Match(doc) {
			t.Errorf("setting %s isn't in the package comment", key)
		}
	}
	if len(settings) < 40 {
		t.Errorf("found %d keys, want them all", len(settings))
	}
}

func FuzzCutDirectives(f *testing.F) {
	for _, seed := range []string{"x", "{{standin}}", "{{standin a=1}} b {{standin c}}", `{{standin a="}}"}}`, "{{standin a=`x`}}", "{{{{standin"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		text, settings, err := cutDirectives(message)
		switch {
		case err != nil:
			if text != message {
				t.Fatalf("cutDirectives(%q) failed and changed the text to %q", message, text)
			}
			return
		case len(text) > len(message):
			t.Fatalf("cutDirectives(%q) = %q, longer than before", message, text)
		case !strings.Contains(message, directiveOpen) && (text != message || settings != nil):
			t.Fatalf("cutDirectives(%q) = %q, %v, want it unchanged", message, text, settings)
		}
		for _, s := range settings {
			if s.key == "" {
				t.Fatalf("cutDirectives(%q) has a setting without a key: %q", message, settings)
			}
		}
		_ = new(behaviour).apply(settings) // must not panic
	})
}
