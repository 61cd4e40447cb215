package app

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"telex/internal/config"
)

const (
	// apiKeyEnv is the environment variable that contains the key for clients of the API server.
	apiKeyEnv = "TELEX_API_KEY"
	// packageDocs is the directory in which the deb and rpm packages install the documentation.
	packageDocs = "/usr/share/doc/telex"
)

// setupKey is a key of a platform whose value setup asks for.
type setupKey struct {
	key          string
	ask          string
	env          string // environment variable that is used as the answer if it is set
	secret       bool
	defaultValue string // the default answer; empty: an answer is required
	random       bool   // the default answer is a new random secret
}

// setupKind describes what setup asks about one kind of platform.
type setupKind struct {
	kind  string
	where string // a sentence that says where the person finds these values
	page  string // the page about this platform in the documentation
	keys  []setupKey
}

// setupKinds returns the kinds of platforms that setup supports, in the order in which it asks for them.
func setupKinds() []setupKind {
	return []setupKind{
		{config.KindTelegram, "write /newbot to @BotFather (https://t.me/BotFather); it asks for two names and answers with the token.", "docs/setup-telegram.md", []setupKey{
			{key: "token", ask: "Bot token, from @BotFather", env: "TELEGRAM_BOT_TOKEN", secret: true},
		}},
		{config.KindDiscord, "make an application at https://discord.com/developers/applications, and invite its bot to your server.", "docs/setup-discord.md", []setupKey{
			{key: "token", ask: "Bot token, from the application's page Bot in the Developer Portal", env: "DISCORD_BOT_TOKEN", secret: true},
		}},
		{config.KindSlack, "make an app from a manifest at https://api.slack.com/apps, and install it.", "docs/setup-slack.md", []setupKey{
			{key: "bot_token", ask: "Bot User OAuth Token (xoxb-…), from the page Install App", env: "SLACK_BOT_TOKEN", secret: true},
			{key: "app_token", ask: "App-Level Token (xapp-…), from the page Basic Information", env: "SLACK_APP_TOKEN", secret: true},
		}},
		{config.KindWhatsApp, "its terms forbid most general assistants; the app is made at https://developers.facebook.com/apps.", "docs/setup-whatsapp.md", []setupKey{
			{key: "phone_number_id", ask: "Phone number ID, from the page API Setup", env: "WHATSAPP_PHONE_NUMBER_ID"},
			{key: "access_token", ask: "Access token of the system user", env: "WHATSAPP_ACCESS_TOKEN", secret: true},
			{key: "app_secret", ask: "App secret, from App settings, Basic", env: "WHATSAPP_APP_SECRET", secret: true},
			{key: "verify_token", ask: "Verify token of the webhook", env: "WHATSAPP_VERIFY_TOKEN", secret: true, random: true},
			{key: "listen", ask: "Address for webhooks, behind a proxy that speaks HTTPS", env: "WHATSAPP_LISTEN", defaultValue: "127.0.0.1:8646"},
		}},
		{config.KindHomeAssistant, "the token is made on the page of your own profile.", "docs/setup-homeassistant.md", []setupKey{
			{key: "url", ask: "Address of Home Assistant", env: "HASS_URL", defaultValue: "http://homeassistant.local:8123"},
			{key: "token", ask: "Long-lived access token, from your profile's page Security", env: "HASS_TOKEN", secret: true},
		}},
		{config.KindAPIServer, "programs with OpenAI's API use telex as their model, with this key.", "docs/api-server.md", []setupKey{
			{key: "key", ask: "Key for clients", env: apiKeyEnv, secret: true, random: true},
		}},
	}
}

// SetupPlatforms returns the names of the platforms that setup supports.
func SetupPlatforms() []string {
	var names []string
	for _, k := range setupKinds() {
		names = append(names, k.kind)
	}
	return names
}

func setupKindOf(kind string) (setupKind, bool) {
	kinds := setupKinds()
	i := slices.IndexFunc(kinds, func(k setupKind) bool { return k.kind == kind })
	if i < 0 {
		return setupKind{}, false
	}
	return kinds[i], true
}

// draft is the configuration that setup is about to write.
type draft struct {
	baseURL, modelKey, model string
	modelKeyEnv              string // environment variable that contains modelKey; empty: a file contains it
	platforms                []draftPlatform
	allow                    []string
}

// draftPlatform is the section of one platform in a draft. The values have the order in which the file will list them.
type draftPlatform struct {
	kind   string
	values []draftValue
}

type draftValue struct {
	key, value string
	secret     bool
	env        string // environment variable that contains the secret; empty: a file contains it
}

func (p *draftPlatform) set(v draftValue) { p.values = append(p.values, v) }

// secretFile returns the name of the file that will contain the secret value of a key.
func (p *draftPlatform) secretFile(key string) string {
	return strings.ReplaceAll(p.kind+"-"+key, "_", "-")
}

// modelKeyFile is the name of the file for the key of the model's API.
const modelKeyFile = "model-key"

// secrets returns the secrets of the draft that must be written to files, by file name.
func (d *draft) secrets() map[string]string {
	out := map[string]string{}
	if d.modelKey != "" && d.modelKeyEnv == "" {
		out[modelKeyFile] = d.modelKey
	}
	for _, p := range d.platforms {
		for _, v := range p.values {
			if v.secret && v.env == "" {
				out[p.secretFile(v.key)] = v.value
			}
		}
	}
	return out
}

// variables returns the names of the environment variables to which the configuration refers.
func (d *draft) variables() []string {
	var names []string
	if d.modelKeyEnv != "" {
		names = append(names, d.modelKeyEnv)
	}
	for _, p := range d.platforms {
		for _, v := range p.values {
			if v.env != "" {
				names = append(names, v.env)
			}
		}
	}
	return names
}

// yaml returns the content of the configuration file, which contains no secrets.
func (d *draft) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by telex setup. %s explains these keys and all others.\nmodels:\n  - name: main\n", documented("config.yaml.example"))
	fmt.Fprintf(&b, "    base_url: %s\n", quoted(d.baseURL))
	switch {
	case d.modelKeyEnv != "":
		fmt.Fprintf(&b, "    api_key: ${%s}\n", d.modelKeyEnv)
	case d.modelKey != "":
		fmt.Fprintf(&b, "    api_key_file: %s\n", modelKeyFile)
	}
	fmt.Fprintf(&b, "    model: %s\nplatforms:\n", quoted(d.model))
	for _, p := range d.platforms {
		fmt.Fprintf(&b, "  %s:\n", p.kind)
		for _, v := range p.values {
			switch {
			case p.kind == config.KindAPIServer && v.env != "":
				fmt.Fprintf(&b, "    keys: [{name: main, key: \"${%s}\"}]\n", v.env)
			case v.env != "":
				fmt.Fprintf(&b, "    %s: ${%s}\n", v.key, v.env)
			case p.kind == config.KindAPIServer && v.secret:
				fmt.Fprintf(&b, "    keys: [{name: main, key_file: %s}]\n", p.secretFile(v.key))
			case v.secret:
				fmt.Fprintf(&b, "    %s_file: %s\n", v.key, p.secretFile(v.key))
			default:
				fmt.Fprintf(&b, "    %s: %s\n", v.key, quoted(v.value))
			}
		}
	}
	b.WriteString("access:\n  default: pair   # strangers get a code; \"telex pair approve CODE\" lets them in\n")
	if len(d.allow) > 0 {
		b.WriteString("  allow:\n")
		for _, who := range d.allow {
			fmt.Fprintf(&b, "    - %s\n", quoted(who))
		}
	}
	b.WriteString("streaming:\n  enabled: true\n")
	return b.String()
}

// quoted returns a text as a quoted YAML string.
func quoted(text string) string {
	out, err := yaml.Marshal(text)
	if err != nil {
		return "\"\"" // can't happen, because every string can be encoded
	}
	return strings.TrimSpace(string(out))
}

// randomSecret returns a secret that nobody can guess.
func randomSecret() string { return rand.Text() }
