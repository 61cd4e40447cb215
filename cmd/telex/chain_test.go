package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// If a model fails, the next model continues in the same message. The test covers failures of a model before any text
// was visible, and failures in the middle of an answer.
func TestChain(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{"refuses": "status=401", "is overloaded": "status=503", "breaks off": "cut=200"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, telegram.Options{}, openai.Options{})
			if err := w.model.Rule(openai.Rule{Match: "words", Do: do, Times: 10}); err != nil {
				t.Fatal(err)
			}
			other := openai.New(openai.Options{Key: testKey, Rate: 200})
			url := serve(t, other, listen(t))
			p := w.daemon(sections{models: fmt.Sprintf(
				"[{name: main, base_url: %q, api_key: %q, model: standin}, {name: spare, base_url: %q, api_key: %q, model: standin}]",
				w.modelURL+"/v1", testKey, url+"/v1", testKey)})
			w.ask("words: 120")
			ended := p.awaitLog("turn ended", 1)[0]
			w.wantTexts(ada, openai.Answer("words: 120"))
			if got := ended.text("model"); got != "spare" {
				t.Errorf("the log says that %q answered", got)
			}
			if n := len(other.Requests()); n != 1 {
				t.Errorf("the spare model was asked %d times", n)
			}
			w.ask("/usage")
			w.await("the usage of both", func() bool { return len(w.texts(ada)) == 2 })
		})
	}
}

// In a pipeline of models, each model must read the text that the previous model wrote. People see only the answer of
// the last model.
func TestPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{})
	for _, r := range []openai.Rule{{Match: "words: 9", Do: `say="say: from the facts"`}, {Match: "say: from the facts", Do: "", Times: 1}} {
		if err := w.model.Rule(r); err != nil {
			t.Fatal(err)
		}
	}
	p := w.daemon(sections{more: `agent: {pipeline: [{name: facts, system_prompt: "Collect the facts."}, {name: answer, model: main}]}`})
	began := time.Now()
	w.ask("words: 9")
	p.awaitLog("turn ended", 1)
	w.wantTexts(ada, "from the facts")
	requests := w.model.Requests()
	if len(requests) != 2 || !requests[0].Stream || !requests[1].Stream || !strings.Contains(requests[1].Question, "from the facts") {
		t.Errorf("the model was asked %+v", requests)
	}
	t.Logf("two nodes in %v", time.Since(began))
}
