package main

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	telegramAddress = regexp.MustCompile(`^telegram stand-in on (http://127\.0\.0\.1:\d+), chat page at http://127\.0\.0\.1:\d+/, token (\S+)\n$`)
	openaiAddress   = regexp.MustCompile(`^openai stand-in on (http://127\.0\.0\.1:\d+)/v1\n$`)
)

// startStandins starts the stand-ins of Telegram and of a model as processes.
func startStandins(t *testing.T, rate string) (platform, model remote) {
	t.Helper()
	a := launch{bare: true}.start(t, "standin", "telegram", "--listen", "127.0.0.1:0", "--token", testToken, "--latency", "10ms")
	b := launch{}.start(t, "standin", "openai", "--listen", "127.0.0.1:0", "--key", testKey, "--rate", rate)
	t.Cleanup(func() { a.stop(); b.stop() })
	return remote{t, a.awaitAddress(telegramAddress)}, remote{t, b.awaitAddress(openaiAddress)}
}

const threeProcesses = `
models: [{name: main, base_url: "%s/v1", api_key: "${MODEL_KEY}", model: standin}]
streaming: {telegram: %t}
access: {allow: ["telegram:user:1001"]}
platforms: {telegram: {token: "${BOT_TOKEN}", api_base: "%s"}}
admin: {listen: ""}
`

func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("streaming %t", streaming), func(t *testing.T) {
			t.Parallel()
			platform, model := startStandins(t, "150")
			path := writeConfig(t, fmt.Sprintf(threeProcesses, model.url, streaming, platform.url))
			daemon := launch{env: []string{"BOT_TOKEN=" + testToken, "MODEL_KEY=" + testKey}}.start(t, "run", "--config", path)
			platform.say("Explain the tides")
			daemon.awaitLog("turn ended", 1)
			list := platform.replies(ada)
			if len(list) != 1 {
				t.Fatalf("%d messages, want 1", len(list))
			}
			checkTides(t, list[0].Last())
			if streaming {
				checkSteps(t, list[0], 4)
			} else if len(list[0].Versions) != 1 {
				t.Errorf("%d versions, want one send and no edit", len(list[0].Versions))
			}
			stats := platform.get("/control/stats")
			if !strings.Contains(stats, `"too_many_requests":0,`) {
				t.Errorf("calls were answered 429: %s", stats)
			}
			requests := model.requests()
			if len(requests) != 1 || !requests[0].Stream { // the model request streams anyway, so that telex notices a silent model
				t.Fatalf("%d requests, want one that streams", len(requests))
			}
			// This limit on the time from the last token to the last edit is rough; make bench checks the exact limit.
			if late := list[0].Last().At.Sub(requests[0].LastToken); late > patience {
				t.Errorf("final %v after the last token", late)
			}
			daemon.stop()
		})
	}
}

func TestThreeProcessesTerminated(t *testing.T) {
	t.Parallel()
	platform, model := startStandins(t, "20")
	path := writeConfig(t, fmt.Sprintf(threeProcesses, model.url, true, platform.url))
	daemon := launch{env: []string{"BOT_TOKEN=" + testToken, "MODEL_KEY=" + testKey}}.start(t, "run", "--config", path)
	platform.say("words: 2000")
	platform.awaitReplies(ada, "an answer with a cursor", func(texts []string) bool {
		return len(texts) == 1 && strings.HasSuffix(texts[0], cursor)
	})
	began := time.Now()
	daemon.signal(syscall.SIGTERM)
	if code := daemon.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	t.Logf("ended %v after SIGTERM", time.Since(began))
	list := platform.replies(ada)
	if len(list) != 1 {
		t.Fatalf("%d messages, want 1", len(list))
	}
	checkStopped(t, list[0].Text(), model.get("/control/answer?question=words:%202000"))
}
