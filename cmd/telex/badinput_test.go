package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Parts of a small configuration. Each test case replaces one part of the configuration with an invalid part.
const (
	goodModels    = "models: [{name: main, api_key: k, model: m}]\n"
	goodPlatforms = "platforms: {telegram: {token: \"1:a\"}}\n"
)

// telex must report every mistake in the configuration with its position, and must start nothing. The exit code is 78
// (EX_CONFIG), after which systemd does not restart the service.
func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		env        []string
		want       string // expected content of stderr
	}{
		{name: "empty file", text: "", want: "c.yaml:1:1: the file is empty; start from config.yaml.example\n"},
		{
			name: "malformed", text: "models:\n  - {name: main, api_key: k, model: m\n" + goodPlatforms,
			want: "c.yaml:2:3: not valid YAML: did not find expected ',' or '}'; check indentation, quotes and brackets here and just before\n",
		},
		{
			name: "unknown section", text: goodModels + "streeming: {enabled: true}\n" + goodPlatforms,
			want: "c.yaml:2:1: unknown key \"streeming\" at the top level; did you mean \"streaming\"?\n",
		},
		{
			name: "unknown keys", text: goodModels + "agent: {limits: {silense: 1s}}\nplatforms: {telegram: {token: \"1:a\", api_bass: x}}\n",
			want: "c.yaml:2:18: unknown key \"silense\" in agent.limits; did you mean \"silence\"?\n" +
				"c.yaml:3:38: unknown key \"api_bass\" in platforms.telegram; did you mean \"api_base\"?\n",
		},
		{
			name: "empty token", text: goodModels + "platforms: {telegram: {token: \"\"}}\n",
			want: "c.yaml:2:31: empty token in platforms.telegram; write \"token: ${NAME}\" or \"token_file: PATH\"\n",
		},
		{
			name: "token from an empty variable", text: goodModels + "platforms: {telegram: {token: \"${BOT_TOKEN}\"}}\n", env: []string{"BOT_TOKEN="},
			want: "c.yaml:2:31: empty token in platforms.telegram; ${BOT_TOKEN} is empty in the environment\n",
		},
		{
			name: "missing variables", text: "models: [{name: main, api_key: \"${MODEL_KEY}\", model: m}]\nplatforms: {telegram: {token: \"${BOT_TOKEN}\"}}\n",
			want: "c.yaml:1:32: environment variable MODEL_KEY is not set, in models[0].api_key; set it, or write $${ for a literal ${\n" +
				"c.yaml:2:31: environment variable BOT_TOKEN is not set, in platforms.telegram.token; set it, or write $${ for a literal ${\n",
		},
		{name: "no models", text: goodPlatforms, want: "c.yaml:1:1: missing key \"models\" at the top level; add \"models: ...\"\n"},
		{
			name: "empty list of models", text: "models: []\n" + goodPlatforms,
			want: "c.yaml:1:1: no models; add an entry such as \"- {name: main, model: gpt-5-mini, api_key: ${OPENAI_API_KEY}}\"\n",
		},
		{name: "no platforms", text: goodModels, want: "c.yaml:1:1: no platform to run on; add one under platforms, such as telegram\n"},
		{
			name: "a database of another kind", text: goodModels + goodPlatforms + "store: {dsn: \"mysql://u:" + testKey + "@h/d\"}\n",
			want: "c.yaml:3:9: invalid URL of a database in store.dsn; write sqlite, or postgres://USER:PASSWORD@HOST:5432/DATABASE " +
				"with special characters of the password percent-encoded\n",
		},
		{
			name: "a tool without its Home Assistant", text: goodModels + goodPlatforms + "tools: {enabled: [ha_states]}\n",
			want: "c.yaml:3:19: ha_states needs exactly one endpoint of kind homeassistant, in tools.enabled; configure one under platforms, with its url and token\n",
		},
		{
			name: "unknown fixed line", text: goodModels + goodPlatforms + "texts: {stoped: x}\n",
			want: "c.yaml:3:9: unknown key \"stoped\" in texts; did you mean \"stopped\"?\n",
		},
		{
			name: "bad word for streaming", text: goodModels + goodPlatforms, env: []string{"TELEX_STREAMING_ENABLED=maybe"},
			want: "TELEX_STREAMING_ENABLED: invalid value; set true, 1, yes or false, 0, no\n",
		},
	} {
		for _, command := range [][]string{{"run"}, {"config", "check"}} {
			t.Run(fmt.Sprint(c.name, " ", command), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
				p := launch{dir: dir, env: c.env}.start(t, append(command, "--config", "c.yaml")...)
				wantRefusal(t, p, exitConfig, c.want)
			})
		}
	}
}

// wantRefusal checks that a process ended at once with this exit code and printed exactly this text on stderr.
func wantRefusal(t *testing.T, p *process, want int, stderr string) {
	t.Helper()
	if code := p.exit(patience); code != want {
		t.Errorf("exit %d, want %d", code, want)
	}
	if got := p.stderr.String(); got != stderr {
		t.Errorf("stderr\ngot  %q\nwant %q", got, stderr)
	}
	if got := p.stdout.String(); got != "" {
		t.Errorf("stdout = %q, want nothing", got)
	}
}

func TestConfigurationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		env  []string
		want string
	}{
		{
			name: "none", args: []string{"run"},
			want: "telex: no configuration file at config.yaml or /etc/telex/config.yaml; name one with --config or $TELEX_CONFIG\n",
		},
		{
			name: "missing", args: []string{"run", "--config", "missing.yaml"},
			want: "telex: read configuration: open missing.yaml: no such file or directory\n",
		},
		{
			name: "missing, from the environment", args: []string{"run"}, env: []string{"TELEX_CONFIG=missing.yaml"},
			want: "telex: read configuration: open missing.yaml: no such file or directory\n",
		},
		{
			name: "directory", args: []string{"run", "--config", "."},
			want: "telex: read configuration: read .: is a directory\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, launch{env: c.env}.start(t, c.args...), exitConfig, c.want)
		})
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	const unknown = "telex: unknown command or argument %q for %q\nRun '%[2]s --help' for usage\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bogus"}, fmt.Sprintf(unknown, "bogus", "telex")},
		{[]string{"run", "now"}, fmt.Sprintf(unknown, "now", "telex run")},
		{[]string{"config", "chek"}, strings.Replace(fmt.Sprintf(unknown, "chek", "telex config"), "\n", "\nDid you mean \"telex config check\"?\n", 1)},
		{[]string{"standin", "irc"}, fmt.Sprintf(unknown, "irc", "telex standin")},
		{[]string{"version", "2"}, fmt.Sprintf(unknown, "2", "telex version")},
		{[]string{"run", "--no-such"}, "telex: unknown flag: --no-such\nRun 'telex run --help' for usage\n"},
		{[]string{"--no-such"}, "telex: unknown flag: --no-such\nRun 'telex --help' for usage\n"},
		{
			[]string{"demo", "--rate", "fast"},
			"telex: invalid argument \"fast\" for \"--rate\" flag: strconv.ParseFloat: parsing \"fast\": invalid syntax\nRun 'telex demo --help' for usage\n",
		},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, launch{}.start(t, c.args...), exitUsage, c.want)
		})
	}
}

// A failure at run time must not have the exit code for wrong usage.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l := listen(t)
	t.Cleanup(func() { _ = l.Close() })
	for _, args := range [][]string{
		{"standin", "telegram", "--listen", l.Addr().String()},
		{"standin", "discord", "--listen", l.Addr().String()},
		{"standin", "openai", "--listen", l.Addr().String()},
		{"standin", "slack", "--listen", l.Addr().String()},
		{"demo", "--listen", l.Addr().String()},
	} {
		t.Run(args[1], func(t *testing.T) {
			t.Parallel()
			p := launch{}.start(t, args...)
			code := p.exit(patience)
			what := map[bool]string{true: "the stand-in", false: "the demo"}[args[0] == "standin"]
			want := fmt.Sprintf("telex: listen for %s: listen tcp %s: bind: address already in use; --listen takes another address\n", what, l.Addr())
			if got := p.stderr.String(); code != exitFailed || got != want {
				t.Errorf("exit %d, stderr\ngot  %q\nwant %d and\n     %q", code, got, exitFailed, want)
			}
		})
	}
}
