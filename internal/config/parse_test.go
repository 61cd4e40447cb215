package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// base is the smallest configuration with which the daemon can run. The test cases append their text to base, which has three
// lines. So the text of each test case begins on line 4.
const base = `models: [{name: main, model: m, api_key: k-main-secret}]
platforms:
  telegram: {token: "1:telegram-secret"}
`

func testEnv(vars map[string]string) Env {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func mustParse(t *testing.T, text string, vars map[string]string) *Config {
	t.Helper()
	c, err := Parse("config.yaml", []byte(text), testEnv(vars))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

// TestParseErrors breaks each rule, and compares the error with the exact expected text.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	const (
		noUnit  = "; write a number with a unit, such as 60s, 5m, 12h or 90d"
		forms   = "; write endpoint:user:ID, endpoint:chat:ID or endpoint:*"
		example = "; start from config.yaml.example"
	)
	tests := []struct {
		name, text string
		want       []string // expected errors, without the file's name
	}{
		// The following test cases are about the file as a whole.
		{"empty file", "", []string{"1:1: the file is empty" + example}},
		{"only comments", "# nothing\n", []string{"1:1: the file is empty" + example}},
		{"null", "---\n", []string{"1:1: the file is empty" + example}},
		{"list", "- a\n", []string{"1:1: the file must be a mapping of keys to values, not a list" + example}},
		{"text", "token\n", []string{"1:1: the file must be a mapping of keys to values, not text" + example}},
		{"second document", base + "---\nlog: {}\n", []string{"4:1: a second document; a file may contain only one; remove the --- line or the rest"}},
		{"empty second document", base + "---\n", []string{"4:1: a second document; a file may contain only one; remove the --- line or the rest"}},
		{"broken second document", base + "---\n}\n", []string{
			"5:1: not valid YAML: did not find expected node content; check indentation, quotes and brackets here and just before",
		}},
		{"tab", base + "agent:\n\tsystem_prompt: x\n", []string{"5:1: a tab in the indentation; indent with spaces"}},
		{"open quote", base + "store: {dsn: \"sqlite}\n", []string{
			"4:1: not valid YAML: found unexpected end of stream; check indentation, quotes and brackets here and just before",
		}},
		{"bad indentation", base + "agent:\n  limits: {}\n system_prompt: x\n", []string{
			"6:2: not valid YAML: did not find expected key; check indentation, quotes and brackets here and just before",
		}},
		{"not UTF-8", base + "texts: {a: \xff}\n", []string{"4:12: a byte that is not UTF-8; save the file as UTF-8"}},
		{"control character", base + "texts: {a: \x00}\n", []string{"4:12: a control character; remove it"}},
		{"too long", strings.Repeat("#", maxFile+1), []string{"1:1: the file is longer than 1048576 bytes"}},
		{"unknown anchor", base + "store: {dsn: *hidden-secret}\n", []string{
			"4:14: an alias to an anchor that doesn't exist; quote a value that begins with *",
		}},
		{"tag", base + "store: {dsn: !hidden-secret x}\n", []string{
			"4:14: tags are not supported, in store.dsn; quote a value that begins with !",
		}},
		{"merge key", base + "agent: {<<: {system_prompt: x}}\n", []string{
			"4:9: merge keys (<<) are not supported, in agent; write the keys out, or use an alias for a whole value",
		}},
		{"complex key", base + "? [a]\n: b\n", []string{"4:3: a key must be a plain word, at the top level; write key: value"}},

		// Errors about keys.
		{"unknown key", base + "streaming:\n  enabled: true\n  edit_intervall: 1\n", []string{
			`6:3: unknown key "edit_intervall" in streaming; did you mean "edit_interval"?`,
		}},
		{"unknown section", base + "model: []\n", []string{`4:1: unknown key "model" at the top level; did you mean "models"?`}},
		{"unknown key without a near one", base + "log: {colour_scheme: x}\n", []string{
			`4:7: unknown key "colour_scheme" in log; known are format, level`,
		}},
		{"unknown key that looks like a secret", base + "log: {sk-1234567890abc}\n", []string{
			`4:7: unknown key (not shown) in log; known are format, level`,
		}},
		{"unknown key of an endpoint", "models: [{name: a, model: b, api_key: c}]\nplatforms:\n  telegram:\n    tokn_file: x\n    token: 1:a\n", []string{
			`4:5: unknown key "tokn_file" in platforms.telegram; did you mean "token_file"?`,
		}},
		{"duplicate key", base + "log: {}\nlog: {}\n", []string{`5:1: duplicate key "log" at the top level; first on line 4`}},
		{"duplicate nested key", base + "log:\n  level: info\n  level: debug\n", []string{`6:3: duplicate key "level" in log; first on line 5`}},
		{"duplicate endpoint", base + "  telegram: {token: x}\n", []string{`4:3: duplicate key "telegram" in platforms; first on line 3`}},
		{"duplicate kind", base + "  b: {kind: telegram, kind: telegram, token: x}\n", []string{
			`4:23: duplicate key "kind" in platforms.b; first on line 4`,
		}},

		// The following test cases are about types and bounds of values.
		{"mapping wanted", base + "agent: x\n", []string{"4:8: agent must be a mapping of keys to values, not text"}},
		{"list wanted", base + "access: {allow: telegram:*}\n", []string{
			"4:17: access.allow must be a list, not text; write [a, b] or one entry per line with a dash",
		}},
		{"text wanted", base + "agent: {system_prompt: [a]}\n", []string{"4:24: agent.system_prompt must be text, not a list"}},
		{"text wanted, bool given", base + "texts: {hello: true}\n", []string{
			"4:16: texts.hello must be text, not true or false; put quotes around it",
		}},
		{"text wanted, nothing given", base + "agent: {system_prompt: }\n", []string{"4:24: agent.system_prompt must be text, not nothing"}},
		{"bool wanted", base + "streaming: {enabled: perhaps}\n", []string{`4:22: streaming.enabled must be true or false, not "perhaps"`}},
		{"bool wanted, text given", base + "streaming: {enabled: \"true\"}\n", []string{
			"4:22: streaming.enabled must be true or false, not text; remove the quotes",
		}},
		{"int wanted", base + "conversations: {max_queued: many}\n", []string{
			`4:29: conversations.max_queued must be a whole number, not "many"`,
		}},
		{"int wanted, float given", base + "conversations: {max_queued: 1.5}\n", []string{
			`4:29: conversations.max_queued must be a whole number, not "1.5"`,
		}},
		{"int out of bounds", base + "conversations: {max_queued: 0}\n", []string{
			`4:29: conversations.max_queued must be between 1 and 1000, not "0"`,
		}},
		{"int too long", base + "conversations: {max_queued: 99999999999999999999}\n", []string{
			`4:29: conversations.max_queued must be between 1 and 1000, not "99999999999999999999"`,
		}},
		{"float wanted", base + "streaming: {edit_interval: 1.5s}\n", []string{
			`4:28: streaming.edit_interval must be a number, not "1.5s"; a bare number means seconds`,
		}},
		{"float in quotes", base + "streaming: {edit_interval: \"1.5\"}\n", []string{
			`4:28: streaming.edit_interval must be a number, not text; a bare number means seconds`,
		}},
		{"float out of bounds", base + "streaming: {telegram: {edit_interval: 0.05}}\n", []string{
			`4:39: streaming.telegram.edit_interval must be between 0.1 and 60 seconds, not "0.05"`,
		}},
		{"not a number", base + "streaming: {edit_interval: .nan}\n", []string{
			`4:28: streaming.edit_interval must be a number, not ".nan"; a bare number means seconds`,
		}},
		{"duration without unit", base + "shutdown_grace: 30\n", []string{`4:17: shutdown_grace has no unit: "30"` + noUnit}},
		{"duration of words", base + "shutdown_grace: soon\n", []string{`4:17: shutdown_grace must be a duration, not "soon"` + noUnit}},
		{"negative duration", base + "agent: {limits: {turn: -5m}}\n", []string{`4:24: agent.limits.turn must be longer than 0, not "-5m"`}},
		{"zero duration", base + "agent: {limits: {silence: 0s}}\n", []string{`4:27: agent.limits.silence must be longer than 0, not "0s"`}},
		{"no time to approve", base + "tools: {approval_timeout: 0s}\n", []string{`4:27: tools.approval_timeout must be longer than 0, not "0s"`}},
		{"days to approve", base + "tools: {approval_timeout: 2d}\n", []string{"4:9: tools.approval_timeout must be at most 1d, not 2d"}},
		{"bare zero", base + "agent: {limits: {silence: 0}}\n", []string{`4:27: agent.limits.silence must be longer than 0, not "0"`}},
		{"endless duration", base + "shutdown_grace: 999999999d\n", []string{`4:17: shutdown_grace must be a duration, not "999999999d"` + noUnit}},
		{"duration as list", base + "shutdown_grace: [1s]\n", []string{"4:17: shutdown_grace must be a duration, not a list" + noUnit}},
		{"bad word", base + "conversations: {busy: quue}\n", []string{
			`4:23: unknown value "quue" for conversations.busy; did you mean "queue"?`,
		}},
		{"bad word without a near one", base + "log: {level: everything}\n", []string{
			`4:14: unknown value "everything" for log.level; known are debug, error, info, warn`,
		}},

		// The following test cases are about environment variables and secrets.
		{"missing variable", base + "agent: {system_prompt: \"${NONE}\"}\n", []string{
			"4:24: environment variable NONE is not set, in agent.system_prompt; set it, or write $${ for a literal ${",
		}},
		{"variable without a name", base + "agent: {system_prompt: \"${hidden-secret}\"}\n", []string{
			"4:24: ${ without a variable's name in agent.system_prompt; write ${NAME} with the name of an environment variable, or $${ for a literal ${",
		}},
		{"open variable", base + "agent: {system_prompt: \"${\"}\n", []string{
			"4:24: ${ without a variable's name in agent.system_prompt; write ${NAME} with the name of an environment variable, or $${ for a literal ${",
		}},
		{"empty token", base + "  b: {kind: telegram, token: \"\"}\n", []string{
			`4:30: empty token in platforms.b; write "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"no token", base + "  b: {kind: telegram, token: }\n", []string{
			`4:30: empty token in platforms.b; write "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"empty variable", base + "  b: {kind: telegram, token: \"${EMPTY}\"}\n", []string{
			`4:30: empty token in platforms.b; ${EMPTY} is empty in the environment`,
		}},
		{"blank key", "models: [{name: a, model: b, api_key: \" \"}]\n", []string{
			`1:39: empty api_key in models[0]; write "api_key: ${NAME}" or "api_key_file: PATH"`,
		}},
		{"token and its file", base + "  b: {kind: telegram, token: 2:x, token_file: y}\n", []string{
			"4:35: both token and token_file in platforms.b; keep one of them",
		}},
		{"missing token", base + "  b: {kind: telegram}\n", []string{
			`4:3: missing key "token" in platforms.b; add "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"endpoint of nothing", "models: [{name: a, model: b, api_key: c}]\nplatforms:\n  telegram:\n", []string{
			`3:3: missing key "token" in platforms.telegram; add "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"token with a line break", base + "  b: {kind: telegram, token: \"1:hidden\\nsecret\"}\n", []string{
			"4:30: platforms.b.token holds a line break or a control character; check where it was copied from",
		}},
		{"token without a number", base + "  b: {kind: telegram, token: notatoken}\n", []string{
			"4:23: invalid Telegram token in platforms.b; a token is digits, a colon, and letters, digits, - and _",
		}},
		{"token that is none", base + "  b: {kind: telegram, token: \"hidden secret\"}\n", []string{
			"4:23: invalid Telegram token in platforms.b; a token is digits, a colon, and letters, digits, - and _",
		}},
		{"secret of the wrong type", base + "  b: {kind: telegram, token: [hidden-secret]}\n", []string{
			"4:30: platforms.b.token must be text, not a list",
		}},
		{"missing file", base + "  b: {kind: telegram, token_file: none.txt}\n", []string{
			`4:35: read "none.txt" of platforms.b.token_file: no such file or directory; a relative path is looked up beside the configuration file, and in the folder secrets there`,
		}},
		{"secret given as file", base + "  b: {kind: telegram, token_file: \"123456:hidden-secret\"}\n", []string{
			`4:35: read the file of platforms.b.token_file: no such file or directory; a relative path is looked up beside the configuration file, and in the folder secrets there`,
		}},
		{"empty path", base + "  b: {kind: telegram, token_file: \"\"}\n", []string{
			"4:35: empty path in platforms.b.token_file; name a file or remove the line",
		}},
		{"directory as file", base + "  b: {kind: telegram, token_file: /}\n", []string{
			`4:35: read "/" of platforms.b.token_file: not a regular file`,
		}},

		// The following test cases are about the section models.
		{"no models key", "log: {}\n", []string{`1:1: missing key "models" at the top level; add "models: ..."`}},
		{"no models", "models: []\n", []string{
			`1:1: no models; add an entry such as "- {name: main, model: gpt-5-mini, api_key: ${OPENAI_API_KEY}}"`,
		}},
		{"bare model", "models:\n  - {}\n", []string{
			`2:5: missing key "api_key" in models[0]; add "api_key: ${NAME}" or "api_key_file: PATH"`,
			`2:5: missing key "model" in models[0]; add "model: ..."`,
			`2:5: missing key "name" in models[0]; add "name: ..."`,
		}},
		{"empty model", "models: [{name: a, model: \"\", api_key: b}]\n", []string{"1:27: empty models[0].model"}},
		{"key needed off this machine", "models: [{name: a, model: b, base_url: \"https://192.168.1.2\"}]\n", []string{
			`1:10: missing key "api_key" in models[0]; add "api_key: ${NAME}" or "api_key_file: PATH"`,
		}},
		{"URL of a call", "models: [{name: a, model: b, api_key: c, base_url: \"https://api.example.com/v1/responses\"}]\n", []string{
			"1:42: models[0].base_url is the URL of a call, not of an API; leave /responses out",
		}},
		{"bad URL", "models: [{name: a, model: b, api_key: c, base_url: \"api.example.com/v1\"}]\n", []string{
			"1:42: invalid URL in models[0].base_url; write it as https://host/path",
		}},
		{"bad port", "models: [{name: a, model: b, api_key: c, base_url: \"http://localhost:99999\"}]\n", []string{
			"1:42: invalid URL in models[0].base_url; write it as https://host/path",
		}},
		{"password in URL", "models: [{name: a, model: b, api_key: c, base_url: \"https://u:hidden-secret@h\"}]\n", []string{
			"1:42: models[0].base_url holds a user or a password; put the secret into its own key",
		}},
		{"query in URL", "models: [{name: a, model: b, api_key: c, base_url: \"https://h?key=hidden-secret\"}]\n", []string{
			"1:42: models[0].base_url holds a query or a fragment; write it as https://host/path",
		}},
		{"answer longer than the window", "models: [{name: a, model: b, api_key: c, context_window: 4096, max_output_tokens: 4096}]\n", []string{
			"1:64: max_output_tokens (4096) must be less than context_window (4096) in models[0]; the answer is part of the window",
		}},
		{"temperature", "models: [{name: a, model: b, api_key: c, temperature: 2.1}]\n", []string{
			`1:55: models[0].temperature must be between 0 and 2, not "2.1"`,
		}},
		{"header name", "models: [{name: a, model: b, api_key: c, headers: {\"X Y\": z}}]\n", []string{
			`1:52: invalid header name "X Y" in models[0].headers`,
		}},
		{"header value", "models: [{name: a, model: b, api_key: c, headers: {X: \"a\\nb\"}}]\n", []string{
			"1:55: models[0].headers.X holds a line break or a control character; check where it was copied from",
		}},
		{"same name twice", "models:\n  - {name: a, model: b, api_key: c}\n  - {name: a, model: b, api_key: c}\n", []string{
			`3:6: duplicate name "a" in models[1]; models[0] has the same name`,
		}},

		{"transcription without a model", base + "transcription: {api_key: x}\n", []string{
			`4:17: transcription.api_key without a model; add "model: NAME"; without it nothing is transcribed`,
		}},
		{"transcription without a key", base + "transcription: {model: x, base_url: https://a.example}\n", []string{
			`4:1: missing key "api_key" in transcription; add "api_key: ${NAME}" or "api_key_file: PATH"`,
		}},
		{"override of a model that is not there", base + "conversations: {overrides: [{match: telegram:*, model: mian}]}\n", []string{
			`4:49: unknown model "mian" in conversations.overrides[0].model; did you mean "main"?`,
		}},

		// The following test cases are about the sections agent and texts.
		{"think tag", base + "agent: {think_tags: [\"<think>\"]}\n", []string{
			`4:22: invalid tag name "<think>" in agent.think_tags; write the name alone, such as think`,
		}},
		{"empty text", base + "texts: {hello: \" \"}\n", []string{"4:9: empty texts.hello; remove the line to keep the built-in text"}},

		// The following test cases are about the section streaming.
		{"streaming of an unknown endpoint", base + "streaming: {telegrm: true}\n", []string{
			`4:13: unknown key "telegrm" in streaming; did you mean "telegram"?`,
		}},
		{"streaming of something else", base + "streaming: {support-bot: true}\n", []string{
			`4:13: unknown key "support-bot" in streaming; it is neither a key of streaming nor an endpoint under platforms`,
		}},
		{"unknown key of an endpoint's streaming", base + "streaming: {telegram: {min_token: 1}}\n", []string{
			`4:24: unknown key "min_token" in streaming.telegram; did you mean "min_tokens"?`,
		}},
		{"endpoint's streaming of the wrong type", base + "streaming: {telegram: [true]}\n", []string{
			"4:23: streaming.telegram must be true, false or a mapping, not a list",
		}},
		{"endpoint's streaming of nothing", base + "streaming: {telegram: }\n", []string{
			"4:23: streaming.telegram must be true, false or a mapping, not nothing",
		}},
		{"endpoint's streaming of a word", base + "streaming: {telegram: always}\n", []string{
			`4:23: streaming.telegram must be true or false, not "always"`,
		}},
		{"long cursor", base + "streaming: {cursor: 12345678901234567}\n", []string{"4:13: streaming.cursor is longer than 16 characters"}},
		{"cursor with a line break", base + "streaming: {telegram: {cursor: \"a\\nb\"}}\n", []string{
			"4:24: streaming.telegram.cursor holds a line break",
		}},

		// The following test cases are about the section access.
		{"pattern of an unknown endpoint", base + "access: {allow: [telegrm:*]}\n", []string{
			`4:18: unknown endpoint in pattern "telegrm:*" in access.allow[0]; did you mean "telegram"?`,
		}},
		{"pattern without endpoints", "models: [{name: a, model: b, api_key: c}]\naccess: {allow: [telegram:*]}\n", []string{
			`2:18: unknown endpoint in pattern "telegram:*" in access.allow[0]; configure one under platforms`,
		}},
		{"half a pattern", base + "access: {allow: [telegram]}\n", []string{`4:18: invalid pattern "telegram" in access.allow[0]` + forms}},
		{"pattern without id", base + "access: {allow: [\"telegram:user:\"]}\n", []string{
			`4:18: invalid pattern "telegram:user:" in access.allow[0]` + forms,
		}},
		{"pattern of every user", base + "access: {allow: [\"telegram:user:*\"]}\n", []string{
			`4:18: invalid pattern "telegram:user:*" in access.allow[0]; for everybody on an endpoint write "endpoint:*"`,
		}},
		{"pattern of another kind", base + "access: {allow: [\"telegram:role:1\"]}\n", []string{
			`4:18: invalid pattern "telegram:role:1" in access.allow[0]` + forms,
		}},
		{"pattern with a name", base + "access: {allow: [\"telegram:user:@ann\"]}\n", []string{
			`4:18: invalid Telegram id in pattern "telegram:user:@ann" in access.allow[0]; Telegram's ids are numbers; an @name can pass to somebody else`,
		}},
		{"admin that is no person", base + "access: {admins: [telegram:*]}\n", []string{
			`4:19: an admin is one person, not "telegram:*", in access.admins; write endpoint:user:ID`,
		}},

		// The following test cases are about the section platforms.
		{"unknown kind", base + "  b: {kind: telegran, token: x}\n", []string{
			`4:13: unknown kind "telegran" in platforms.b; did you mean "telegram"?`,
		}},
		{"name that is no kind", base + "  support-bot: {token: x}\n", []string{
			`4:3: unknown kind "support-bot" in platforms.support-bot; add kind: telegram, discord, slack, whatsapp, homeassistant, api_server`,
		}},
		{"endpoint name", base + "  Bot: {kind: telegram, token: 2:x}\n", []string{
			`4:3: invalid endpoint name "Bot"; use a-z, 0-9, _ and -, beginning with a letter or a digit`,
		}},
		{"endpoint named like a key", base + "  cursor: {kind: telegram, token: 2:x}\n", []string{
			`4:3: an endpoint may not be named "cursor", which is a key of streaming; choose another name and add kind`,
		}},
		{"api_base", base + "  b: {kind: telegram, token: 2:x, api_base: \"ftp://h\"}\n", []string{
			"4:35: invalid URL in platforms.b.api_base; write it as https://host/path",
		}},
		{"admin at no address", base + "admin: {listen: 8643}\n", []string{
			`4:9: invalid listen address "8643" in admin.listen; write it as 127.0.0.1:8643, or "" for none`,
		}},
		{"admin for everybody", base + "admin: {listen: \":8643\"}\n", []string{
			`4:9: no admin.token, and other machines can reach admin.listen; add "token: ${TELEX_ADMIN_TOKEN}" or "token_file: PATH" to admin, or listen on 127.0.0.1`,
		}},
		{"one token twice", base + "  b: {kind: telegram, token: \"1:telegram-secret\"}\n", []string{
			"4:23: the token of platforms.b is also that of platforms.telegram; every bot needs its own",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("config.yaml", []byte(tt.text), testEnv(map[string]string{"EMPTY": ""}))
			checkErrors(t, err, tt.want)
			if err != nil && (strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "telegram-secret")) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func checkErrors(t *testing.T, err error, want []string) {
	t.Helper()
	for i := range want {
		want[i] = "config.yaml:" + want[i]
	}
	got := "<nil>"
	if err != nil {
		got = err.Error()
	}
	if got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestParseSections(t *testing.T) {
	t.Parallel()
	t.Run("admin", func(t *testing.T) {
		t.Parallel()
		for text, warns := range map[string]int{
			"": 0, "admin: {listen: \"\"}": 0, "admin: {listen: \"localhost:1\"}": 0, "admin: {listen: \"[::1]:1\", token: t}": 0,
			"admin: {listen: \"0.0.0.0:1\", token: 0123456789abcdef}": 0, "admin: {listen: \":1\", token: t, show_text: true}": 1,
		} {
			c := mustParse(t, base+text+"\n", nil)
			if len(c.Warnings) != warns {
				t.Errorf("%s: %q", text, c.Warnings)
			}
			var want []Listen
			if c.Admin.Listen != "" {
				want = []Listen{{"admin.listen", c.Admin.Listen, text == ""}}
			}
			if got := c.Listens(); !slices.Equal(got, want) {
				t.Errorf("%s: listens at %v, want %v", text, got, want)
			}
		}
	})
	t.Run("responses", func(t *testing.T) {
		t.Parallel()
		c := mustParse(t, "models: [{name: a, model: b, api_key: c, api: responses}, {name: d, model: e, api_key: f}]\n", nil)
		if c.Models[0].API != "responses" || c.Models[1].API != "chat_completions" {
			t.Errorf("models %+v", c.Models)
		}
	})
	t.Run("defaults", func(t *testing.T) {
		t.Parallel()
		mustParse(t, base+`transcription: {model: "", base_url: "", api_key: ""}
agent: {show_reasoning: summary, pipeline: []}
tools: {enabled: [time, fetch, memory], approval_timeout: 24h, max_parallel: 2, fetch: {allow_domains: [example.org]}}
mcp_servers: [{name: a, command: b}]
streaming: {transport: native, tool_progress: inline, max_parts: 3, stop_button: on, telegram: {transport: draft, max_parts: 4, tool_progress: inline, stop_button: off}}
conversations: {max_age: 1m, retention: 90d, overrides: []}
access: {limits: {turns_per_minute: 10, tokens_per_day: 0, tokens_per_day_total: 0}}
store: {dsn: sqlite}
admin: {listen: "", token: "", show_text: false}
`, nil)
	})
}

// Parse must report all errors at once, in the order of the file.
func TestParseReportsAll(t *testing.T) {
	t.Parallel()
	_, err := Parse("dir/c.yaml", []byte("log: {level: x, format: y}\nmodels: [{name: a, model: b, temperature: hot}]\nzzz: 1\n"), nil)
	var all Errors
	if !errors.As(err, &all) || len(all) != 5 {
		t.Fatalf("got %d problems, want 5:\n%v", len(all), err)
	}
	var first *Error
	if !errors.As(err, &first) || first.File != "dir/c.yaml" || first.Line != 1 || first.Column != 14 {
		t.Errorf("first problem = %+v, want dir/c.yaml:1:14", first)
	}
}

func TestParseValues(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
models:
  - name: main
    model: 4711
    base_url: http://127.0.0.1:8080/v1/
    context_window: 1_000_000
    temperature: 0
    stream: no
    headers: {X-Title: "a ${PLAIN}: b", Authorization: "Bearer ${AUTH}"}
agent:
  system_prompt: "${TRICKY} $${PLAIN} $$ $"
  limits: {turn: 1d12h, silence: "${SILENCE}", model_calls: "${CALLS}"}
streaming: {enabled: on, edit_interval: 2}
conversations: {busy: queue}
access:
  default: allow
  admins: ["support-bot:user:7"]
  allow: &people [telegram:*, "telegram:chat:-100"]
texts: {hello: &hi Hello, bye: *hi}
platforms:
  telegram: {token: "1:a", api_base: "https://tg.example.com/"}
  support-bot: {kind: telegram, token: "2:b"}
shutdown_grace: 90s
log:
`, map[string]string{"PLAIN": "value", "AUTH": "xyz", "TRICKY": "a: [b\n# c", "SILENCE": "2m", "CALLS": "5"})
	got := []string{
		c.Models[0].Model, c.Models[0].BaseURL, fmt.Sprint(c.Models[0].ContextWindow), fmt.Sprint(*c.Models[0].Temperature),
		fmt.Sprint(c.Models[0].Stream), c.Models[0].Headers["X-Title"].Reveal(), c.Models[0].Headers["Authorization"].Reveal(),
		c.Agent.SystemPrompt, c.Agent.Limits.Turn.String(), c.Agent.Limits.Silence.String(), fmt.Sprint(c.Agent.Limits.ModelCalls),
		c.Conversations.Busy, c.Access.Default, fmt.Sprint(c.Access.Admins), fmt.Sprint(c.Access.Allow),
		c.Texts["bye"], c.Endpoints[0].Name, settingsOf[Telegram](c.Endpoints[0]).APIBase, c.Endpoints[1].Name, c.Endpoints[1].Kind,
		settingsOf[Telegram](c.Endpoints[1]).APIBase, settingsOf[Telegram](c.Endpoints[1]).Token.Reveal(), c.ShutdownGrace.String(), c.Log.Level, c.File(),
	}
	want := []string{
		"4711", "http://127.0.0.1:8080/v1", "1000000", "0",
		"false", "a value: b", "Bearer xyz",
		"a: [b\n# c ${PLAIN} $$ $", "36h0m0s", "2m0s", "5",
		"queue", "allow", "[support-bot:user:7]", "[telegram:* telegram:chat:-100]",
		"Hello", "telegram", "https://tg.example.com", "support-bot", "telegram",
		"https://api.telegram.org", "2:b", "1m30s", "info", "config.yaml",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d = %q, want %q", i, got[i], want[i])
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"5m": 5 * time.Minute, "90d": 90 * 24 * time.Hour, "1.5d": 36 * time.Hour, "1d1h30m": 25*time.Hour + 30*time.Minute,
		"0": 0, "-3s": -3 * time.Second,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "5", "1d-1h", "1dx", "-1d", "1e9d", "200000d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", text, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	text := "models: [{name: a, model: b, api_key: c, base_url: \"http://%s/v1\"}]\n"
	for host, want := range map[string]int{
		"api.example.com": 1, "8.8.8.8": 1, "localhost:1": 0, "127.0.0.1": 0, "[::1]:80": 0, "10.1.2.3": 0, "192.168.0.9:8080": 0,
		"ollama:11434": 0, "nas.local": 0, "[fd00::1]": 0,
	} {
		c := mustParse(t, fmt.Sprintf(text, host), nil)
		if len(c.Warnings) != want {
			t.Errorf("%s: warnings = %q, want %d", host, c.Warnings, want)
		}
	}
	c := mustParse(t, fmt.Sprintf(text, "api.example.com"), nil)
	const want = "config.yaml:1:42: models[0].base_url is not encrypted: the secret can be read on the way; use https"
	if len(c.Warnings) != 1 || c.Warnings[0] != want {
		t.Errorf("warnings = %q, want %q", c.Warnings, want)
	}
}

func TestKeyOptionalOnThisMachine(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost:11434", "127.0.0.1:1", "[::1]:1", "model.localhost"} {
		mustParse(t, "models: [{name: a, model: b, base_url: \"http://"+host+"\"}]", nil)
	}
}

func TestCheckRun(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "models: [{name: a, model: b, api_key: c}]\nplatforms: {}\n", nil)
	checkErrors(t, c.CheckRun(), []string{"2:1: no platform to run on; add one under platforms, such as telegram"})
	if err := mustParse(t, base, nil).CheckRun(); err != nil {
		t.Errorf("CheckRun = %v, want nil", err)
	}
}

func TestCheckTexts(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base+"texts:\n  stoped: a\n  help: b\n", nil)
	valid := func(key, text string) error {
		if key == "help" && text != "a" {
			return errors.New("help must be a")
		}
		return nil
	}
	checkErrors(t, c.CheckTexts([]string{"help", "stopped"}, valid), []string{
		`5:3: unknown key "stoped" in texts; did you mean "stopped"?`,
		`6:3: help must be a`,
	})
	c.Texts["help"] = "a"
	if err := c.CheckTexts([]string{"help", "stoped"}, valid); err != nil {
		t.Errorf("CheckTexts = %v, want nil", err)
	}
}

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern              Pattern
		endpoint, chat, user string
		want                 bool
	}{
		{Pattern{"tg", PatternUser, "7"}, "tg", "1", "7", true},
		{Pattern{"tg", PatternUser, "7"}, "tg", "7", "1", false},
		{Pattern{"tg", PatternUser, "7"}, "other", "1", "7", false},
		{Pattern{"tg", PatternChat, "7"}, "tg", "7", "1", true},
		{Pattern{"tg", PatternChat, "7"}, "tg", "1", "7", false},
		{Pattern{"tg", PatternEveryone, ""}, "tg", "1", "7", true},
		{Pattern{"tg", PatternEveryone, ""}, "other", "1", "7", false},
		{Pattern{}, "", "", "", false},
	}
	for _, tt := range tests {
		if got := tt.pattern.Matches(tt.endpoint, tt.chat, tt.user); got != tt.want {
			t.Errorf("%v.Matches(%q, %q, %q) = %v, want %v", tt.pattern, tt.endpoint, tt.chat, tt.user, got, tt.want)
		}
	}
}
