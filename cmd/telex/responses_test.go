package main

import (
	"fmt"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// Through the Responses API, an answer must stream in the same way as through Chat Completions, and survive the same
// faults.
func TestAnswersThroughResponses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 150})
	p := w.daemon(sections{
		models:    fmt.Sprintf("[{name: main, api: responses, base_url: %q, api_key: %q, model: standin}]", w.modelURL+"/v1", testKey),
		streaming: "{telegram: true}",
	})
	w.ask("Explain the tides")
	p.awaitLog("turn ended", 1)
	list := w.replies(ada)
	if len(list) != 1 {
		t.Fatalf("%d messages, want 1", len(list))
	}
	checkTides(t, list[0].Last())
	checkSteps(t, list[0], 4)

	w.ask("{{standin cut=40 on=stream times=1}} words: 100")
	p.awaitLog("turn ended", 2)
	w.ask("recall: 1")
	p.awaitLog("turn ended", 3)
	texts := w.texts(ada)
	if want := openai.Answer("words: 100"); len(texts) != 3 || texts[1] != want || texts[2] != "Explain the tides" {
		t.Errorf("ada sees %q", texts)
	}
	requests := w.model.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want 4: one was cut and asked for again", len(requests))
	}
	for i, r := range requests {
		if r.Path != "/v1/responses" || !r.Stream || !strings.Contains(string(r.Body), `"store":false`) {
			t.Errorf("request %d: %s, stream %t, %.200s", i+1, r.Path, r.Stream, r.Body)
		}
	}
	p.stop()
}
