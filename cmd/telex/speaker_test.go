package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// asked returns what the model reads in request r: the system prompt, and the texts of all messages.
func asked(t *testing.T, r openai.Request) (system, all string) {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Messages) == 0 || body.Messages[0].Role != "system" {
		t.Fatalf("%v: %s", err, r.Body)
	}
	for _, m := range body.Messages {
		all += m.Role + ": " + m.Content + "\n"
	}
	return body.Messages[0].Content, all
}

// In a group, the end of the system prompt tells the model in which chat it is. Each message must name its writer, even
// in the request to summarize the conversation.
func TestSpeakersReachTheModelAndItsSummaries(t *testing.T) {
	t.Parallel()
	const group, prompt = -4242, "Be brief."
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{
		models: fmt.Sprintf("[{name: main, base_url: %q, api_key: %q, model: standin, context_window: 3000}]", w.modelURL+"/v1", testKey),
		more:   "agent: {system_prompt: " + prompt + "}",
	})
	for i, said := range []struct{ who, text string }{
		{"Ada", "say: I remember that the boat is blue."},
		{"Bob", "say: I remember that it leaks."},
		{"Ada", "say: " + strings.Repeat("water ", 600)},
		{"Bob", "say: " + strings.Repeat("sand ", 600)},
		{"Ada", "say: " + strings.Repeat("wind ", 600)},
		{"Bob", "say: Whose boat?"},
	} {
		w.telegram.Say(telegram.Incoming{Chat: group, User: int64(1000 + i%2), FirstName: said.who, Text: mentionsUs + said.text})
		p.awaitLog("turn ended", i+1)
	}
	summaries, last := "", ""
	for _, r := range w.model.Requests() {
		system, all := asked(t, r)
		if strings.HasPrefix(r.Question, "Summarize") {
			summaries += all
			continue
		}
		own, _, _ := strings.Cut(system, "\n\nThe older part of this conversation was taken out.")
		if !strings.HasPrefix(own, prompt+"\n\nYou are in a group chat on Telegram. Your name here is @telex_bot. Today is ") ||
			!strings.HasSuffix(own, "). Each message of a person begins with that person's name in brackets. Don't begin yours so.") || !strings.Contains(own, " (time zone ") {
			t.Errorf("the system prompt is %q", system)
		}
		last = all
	}
	for _, line := range []string{"user: [Ada] say: I remember that the boat is blue.\n", "user: [Bob] say: I remember that it leaks.\n"} {
		if !strings.Contains(summaries, line) || strings.Contains(last, line) {
			t.Errorf("not summarized: %q", line)
		}
	}
	if !strings.HasSuffix(last, "user: [Bob] say: Whose boat?\n") {
		t.Errorf("the model reads\n%s", last)
	}
	p.stop()
}
