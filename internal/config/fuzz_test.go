package config

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// For any text, Parse must not panic. The errors of Parse must have positions, and must not show the value of an
// environment variable. If Parse accepts the text, Show must print the configuration without the API key.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		f.Fatal(err)
	}
	text, _ := uncomment(string(example))
	for _, seed := range []string{
		string(example), text, base, "", "a: *b", "? {}\n", "&a [*a]", "models: &m [*m]", "log: {level: \"${X}\"}", "x: ${", "---\n---\n",
		"models:\n- name: ${A}\n  model: ${B}\n  api_key: ${C}\n  headers: {a: \"${D}\"}\n  base_url: ${E}\n",
		base + "access: {allow: [\"${A}\", \"telegram:user:${A}\"], default: \"${A}\"}\nshutdown_grace: ${B}\n",
		base + "streaming: {edit_interval: \"${A}\", cursor: \"${A}\", telegram: \"${A}\", \"${A}\": true}\ntexts: {\"${A}\": \"${B}\"}\n",
		"platforms: {a: {kind: \"${A}\"}, \"${B}\": {token_file: \"${A}\"}}\n", "\xef\xbb\xbflog: {}\n", "a:\n\tb: 1\n", "%YAML 1.2\n---\n{}",
	} {
		f.Add([]byte(seed))
	}
	const secret = "fjord-Quartz.Vexing"
	env := Env(func(name string) (string, bool) {
		return secret, name != envStreaming && name != envConfig && name != envCredentials
	})
	line := regexp.MustCompile(`^fuzz\.yaml:\d+:\d+: [^\n]+$`)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz.yaml", data, env)
		if err != nil {
			if strings.Contains(err.Error(), secret) && !bytes.Contains(data, []byte(secret)) {
				t.Errorf("the error shows a value of the environment: %v", err)
			}
			for part := range strings.SplitSeq(err.Error(), "\n") {
				if !line.MatchString(part) {
					t.Errorf("no place in %q", part)
				}
			}
			return
		}
		var out bytes.Buffer
		if err := c.Show(&out); err != nil {
			t.Fatalf("Show: %v", err)
		}
		if strings.Contains(out.String(), c.Models[0].APIKey.Reveal()) && len(c.Models[0].APIKey.Reveal()) >= minMasked &&
			!strings.Contains(redacted, c.Models[0].APIKey.Reveal()) {
			t.Errorf("Show prints the key:\n%s", &out)
		}
	})
}
