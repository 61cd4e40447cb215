package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	platform, model := startStandins(t, "150")
	text := fmt.Sprintf(threeProcesses, model.url, true, platform.url)
	for _, c := range []struct {
		name, text, key string
		code            int
		want            []string
	}{
		{"all is well", text, testKey, exitDone, []string{"ok       endpoint telegram: Telegram is @", "ok       model main: standin began to answer after"}},
		{"a problem", text, "wrong", exitFailed, []string{"problem  model main: auth: HTTP 401", "\n         → put a valid key into api_key of the model main"}},
		{"a wrong configuration", "models: [", testKey, exitConfig, []string{"problem  configuration: ", "c.yaml:1:", "\n         → correct the line"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doctor := launch{env: []string{"BOT_TOKEN=" + testToken, "MODEL_KEY=" + c.key}}.start(t, "doctor", "--config", writeConfig(t, c.text))
			<-doctor.ended
			if code := doctor.cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if said := doctor.stderr.String(); said != "" {
				t.Errorf("stderr %q, want nothing: the results say it", said)
			}
			out := doctor.stdout.String()
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
		})
	}
}
