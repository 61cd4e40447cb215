package docs_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/slack-go/slack"
	"gopkg.in/yaml.v3"

	"telex/internal/config"
)

var (
	yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")
	step      = regexp.MustCompile(`(?m)^(\d+)\. `)
	inCode    = regexp.MustCompile("`[^`\n]*`")
	localLink = regexp.MustCompile(`\]\(([^):]*)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the YAML blocks of a page. The indentation of a block's first line is removed from all lines of the block.
func blocks(text string) []string {
	var out []string
	for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
		indent := m[1][:len(m[1])-len(strings.TrimLeft(m[1], " "))]
		out = append(out, strings.ReplaceAll("\n"+m[1], "\n"+indent, "\n")[1:])
	}
	return out
}

// secrets returns a valid made-up value for each environment variable that the pages use.
func secrets(name string) (string, bool) {
	value, ok := map[string]string{
		"OPENAI_API_KEY": "sk-x", "TELEGRAM_BOT_TOKEN": "1:x", "TELEGRAM_WEBHOOK_SECRET": "0123456789abcdef0123456789abcdef", "DISCORD_BOT_TOKEN": "a.b.c",
		"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "SLACK_SIGNING_SECRET": "x",
		"WHATSAPP_ACCESS_TOKEN": "x", "WHATSAPP_APP_SECRET": "x", "WHATSAPP_VERIFY_TOKEN": "x", "HOMEASSISTANT_TOKEN": "x", "TELEX_API_KEY": "a-long-enough-key-of-the-api-server",
	}[name]
	return value, ok
}

// The configurations in the setup pages must be valid. A later block of a page may contain only some sections, so the test adds
// its sections to those of the earlier blocks.
func TestSetupConfigs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"setup-telegram.md", "setup-discord.md", "setup-slack.md", "setup-whatsapp.md", "setup-homeassistant.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := page(t, name)
			var steps []string
			for _, m := range step.FindAllStringSubmatch(text, -1) {
				steps = append(steps, m[1])
			}
			if want := strings.Fields("1 2 3 4 5 6 7 8 9 10"); !slices.Equal(steps, want) {
				t.Errorf("steps %v, want ten", steps)
			}
			whole, configs := map[string]any{}, 0
			for _, block := range blocks(text) {
				var part map[string]any
				if err := yaml.Unmarshal([]byte(block), &part); err != nil {
					t.Fatalf("%v in\n%s", err, block)
				}
				if part["settings"] != nil {
					continue // of a manifest
				}
				configs++
				maps.Copy(whole, part)
				data, err := yaml.Marshal(whole)
				if err != nil {
					t.Fatal(err)
				}
				c, err := config.Parse(name, data, secrets)
				if err != nil {
					t.Errorf("%v in\n%s", err, data)
				} else if err := c.CheckRun(); err != nil || len(c.Warnings) > 0 || c.NoAccessReason() != "" {
					t.Errorf("CheckRun = %v, warnings %q, nobody %q in\n%s", err, c.Warnings, c.NoAccessReason(), data)
				}
			}
			if configs < 2 {
				t.Errorf("%d configs, want at least 2", configs)
			}
		})
	}
}

// manifests returns the two manifests in setup-slack.md: the one for Socket Mode, and the lines of a manifest for events by
// HTTP.
func manifests(t *testing.T) (socket, http slack.Manifest) {
	t.Helper()
	var found []slack.Manifest
	for _, block := range blocks(page(t, "setup-slack.md")) {
		if !strings.Contains(block, "settings:") {
			continue
		}
		var m slack.Manifest
		dec := yaml.NewDecoder(strings.NewReader(block))
		dec.KnownFields(true)
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("%v in\n%s", err, block)
		}
		found = append(found, m)
	}
	if len(found) != 2 {
		t.Fatalf("%d manifests, want 2", len(found))
	}
	return found[0], found[1]
}

// The manifest in setup-slack.md must follow Slack's rules (https://docs.slack.dev/reference/app-manifest), and must contain
// the scope that each event needs.
func TestSlackManifest(t *testing.T) {
	t.Parallel()
	m, _ := manifests(t)
	needs := map[string]string{
		"app_mention": "app_mentions:read", "message.channels": "channels:history", "message.groups": "groups:history",
		"message.im": "im:history", "message.mpim": "mpim:history", "app_home_opened": "", "app_context_changed": "assistant:write",
		"agent_session_stopped": "assistant:write",
	}
	scopes, events := m.OAuthConfig.Scopes.Bot, m.Settings.EventSubscriptions.BotEvents
	for _, event := range events {
		if scope, known := needs[event]; !known || scope != "" && !slices.Contains(scopes, scope) {
			t.Errorf("event %s needs the scope %q", event, scope)
		}
	}
	if len(events) != len(needs) {
		t.Errorf("%d events, want %d", len(events), len(needs))
	}
	for _, scope := range []string{"chat:write", "commands", "users:read", "files:read", "files:write", "channels:read", "groups:read", "mpim:read", "im:read"} {
		if !slices.Contains(scopes, scope) {
			t.Errorf("the scope %s is missing", scope)
		}
	}
	if !slices.IsSorted(scopes) || !slices.IsSorted(events) || len(slices.Compact(slices.Clone(scopes))) != len(scopes) {
		t.Error("scopes and events are not sorted, or stand twice")
	}
	// Slack refuses assistant:write without a view, and assistant_view in new apps.
	if m.Features.AgentView == nil || m.Features.AssistantView != nil || m.Features.AgentView.AgentDescription == "" {
		t.Error("no agent_view, or assistant_view")
	}
	if !m.Features.AppHome.MessagesTabEnabled || m.Features.AppHome.MessagesTabReadOnlyEnabled {
		t.Error("people can't write to the app")
	}
	if !m.Settings.SocketModeEnabled || !m.Settings.Interactivity.IsEnabled || m.Settings.TokenRotationEnabled {
		t.Error("want Socket Mode and interactivity, and tokens that don't expire")
	}
	// https://docs.slack.dev/reference/app-manifest#display
	if n := len(m.Display.Name); n == 0 || n > 35 || len(m.Display.Description) > 140 {
		t.Error("the name or the description is too long for Slack")
	}
	if c := m.Features.SlashCommands; len(c) != 1 || c[0].Command != "/telex" || c[0].Url != "" {
		t.Errorf("commands %+v, want /telex without an address", c)
	}
	// The page must tell people to mention the bot by the name in the manifest.
	if name := m.Features.BotUser.DisplayName; !strings.Contains(page(t, "setup-slack.md"), "/invite @"+name) {
		t.Errorf("the page does not speak of @%s", name)
	}
}

// In the manifest's lines for events by HTTP, events, commands and buttons must have the same URL, and Socket Mode must be off.
func TestSlackManifestHTTP(t *testing.T) {
	t.Parallel()
	socket, m := manifests(t)
	at := m.Settings.EventSubscriptions.RequestUrl
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		t.Errorf("events go to %q", at)
	}
	if m.Settings.Interactivity.RequestUrl != at || len(m.Features.SlashCommands) != 1 || m.Features.SlashCommands[0].Url != at {
		t.Error("commands or buttons go elsewhere than events")
	}
	m.Features.SlashCommands[0].Url = ""
	if m.Features.SlashCommands[0] != socket.Features.SlashCommands[0] || m.Settings.SocketModeEnabled {
		t.Error("the command differs, or Socket Mode is on")
	}
}

// The table in setup-discord.md must contain Discord's value of each permission. The number in the invitation link must be the
// sum of the permissions' values.
func TestDiscordPermissions(t *testing.T) {
	t.Parallel()
	text := page(t, "setup-discord.md")
	sum := int64(0)
	for name, value := range map[string]int64{
		"View Channels": discordgo.PermissionViewChannel, "Send Messages": discordgo.PermissionSendMessages,
		"Embed Links": discordgo.PermissionEmbedLinks, "Attach Files": discordgo.PermissionAttachFiles,
		"Read Message History": discordgo.PermissionReadMessageHistory, "Create Public Threads": discordgo.PermissionCreatePublicThreads,
		"Send Messages in Threads": discordgo.PermissionSendMessagesInThreads,
	} {
		if !strings.Contains(text, fmt.Sprintf("\n| %s | %d | ", name, value)) {
			t.Errorf("the table has no %s with %d", name, value)
		}
		sum |= value
	}
	if n := strings.Count(text, strconv.FormatInt(sum, 10)); n != 2 {
		t.Errorf("the sum %d stands %d times in the page, want 2: in the link and above the table", sum, n)
	}
}

// Each link between pages of the documentation must lead to an existing file and heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range append(pages, "../README.md") {
		for _, m := range localLink.FindAllStringSubmatch(inCode.ReplaceAllString(page(t, from), ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			to := filepath.Join(filepath.Dir(from), file)
			if file == "" {
				to = from
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", from, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(page(t, to)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", from, m[1])
			}
		}
	}
}

// anchors returns the headings of a page in the form in which links refer to them.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-', r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
				b.WriteRune(r)
			}
		}
		out = append(out, b.String())
	}
	return out
}

// The configuration in api-server.md must be valid without changes, except that the test adds a model.
func TestAPIServerPage(t *testing.T) {
	t.Parallel()
	found := blocks(page(t, "api-server.md"))
	if len(found) != 1 {
		t.Fatalf("%d blocks, want one", len(found))
	}
	c, err := config.Parse("api-server.md", []byte("models: [{name: main, model: m, api_key: k}]\n"+found[0]), secrets)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckRun(); err != nil || len(c.Warnings) > 0 || c.NoAccessReason() != "" {
		t.Errorf("CheckRun = %v, warnings %q, nobody %q", err, c.Warnings, c.NoAccessReason())
	}
}
