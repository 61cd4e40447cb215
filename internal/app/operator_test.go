package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"telex/agent"
	"telex/internal/chat"
)

// commands reports whether a text contains characters that could control a terminal.
func commands(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
}

// The subcommands of telex print texts of people, models and strangers. No text that a subcommand prints may control the
// operator's terminal.
func TestOutputCommandsNothing(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b[31m\a\r\n\t\x7f\u009b\u202e\u2066"))))
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		body, err := json.Marshal(map[string]string{"role": "user", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		c := chat.Conversation{Endpoint: "x", Chat: "1"}
		at := time.Unix(1, 0)
		tr, err := newTranscript(c, chat.Session{Summary: text, At: at, SummaryUpto: 1}, []chat.Entry{{ID: 1, User: chat.UserID(text), At: at, Body: body}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := writeTranscript(&out, tr); err != nil {
			t.Fatal(err)
		}
		p := Pairing{Waiting: []Waiting{{Code: "C", Person: text, Name: text}}, Admitted: []Admitted{{Person: text, Name: text, By: text}}}
		o := Output{Results: &out, Remarks: &out}
		if err := writePairing(o, p, at); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); commands(got) || !strings.Contains(got, "\nLET IN") {
			t.Fatalf("the output can command a terminal: %q", got)
		}
		out.Reset()
		if err := o.json(p); err != nil {
			t.Fatal(err)
		}
		var back Pairing
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || commands(out.String()) || back.Waiting[0].Name != p.Waiting[0].Name {
			t.Fatalf("the output for scripts is %q, %v", out.String(), err)
		}
	})
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local)
	entries := []chat.Entry{
		{ID: 1, At: at, Body: []byte(`{"role":"user","text":"old"}`)},
		{ID: 2, User: "5", At: at, Body: []byte(`{"role":"user","text":"look","images":[{"media_type":"image/png","data":"AA=="}]}`)},
		{ID: 3, User: "5", At: at, Body: []byte(`{"role":"assistant","text":"A cat."}`)},
	}
	tr, err := newTranscript(chat.Conversation{Endpoint: "x", Chat: "1"}, chat.Session{Summary: "They met.", At: at, SummaryUpto: 1}, entries)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := writeTranscript(&out, tr); err != nil {
		t.Fatal(err)
	}
	want := "[2026-01-02 03:04 summary of earlier messages, which the model no longer sees]\nThey met.\n\n" +
		"[2026-01-02 03:04 user, summarized]\nold\n\n[2026-01-02 03:04 user x:user:5]\nlook\n[image]\n\n[2026-01-02 03:04 assistant]\nA cat.\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if _, err := newTranscript(chat.Conversation{}, chat.Session{}, []chat.Entry{{ID: 7, Body: []byte("{")}}); err == nil {
		t.Error("got no error of an entry that can't be read")
	}
}

// A transcript must also show tool calls. Otherwise a message of the model that consists only of tool calls would seem empty.
func TestTranscriptTellsOfTools(t *testing.T) {
	t.Parallel()
	var entries []chat.Entry
	for _, m := range []agent.Message{
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "1", Name: "lamp", Arguments: "{\"on\":\n true}"}}},
		{Role: agent.ToolRole, ToolCallID: "1", Name: "lamp", Text: "done"},
	} {
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, chat.Entry{ID: int64(len(entries) + 1), Body: body})
	}
	tr, err := newTranscript(chat.Conversation{Endpoint: "tg", Chat: "1"}, chat.Session{}, entries)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := writeTranscript(&out, tr); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "assistant]\n[calls lamp {\"on\": true}]\n") || !strings.Contains(got, "tool lamp]\ndone\n") {
		t.Errorf("got %s", got)
	}
}
