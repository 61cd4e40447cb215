package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	const value = "s3cret-value"
	s := NewSecret(value)
	type exported struct{ S Secret }
	type hidden struct {
		s  Secret
		p  *Secret
		in exported
	}
	holders := map[string]any{
		"value": s, "pointer": &s, "slice": []Secret{s}, "map": map[string]Secret{"a": s}, "map key": map[Secret]int{s: 1},
		"exported": exported{s}, "hidden": hidden{s, &s, exported{s}}, "pointer to hidden": &hidden{s, &s, exported{s}},
		"any": []any{s, &s},
	}
	const hex = "7333637265742d76616c7565"
	for name, holder := range holders {
		outputs := make(map[string]string)
		for _, flags := range []string{"", "+", "#", "-20", "020", ".3", " "} {
			for _, verb := range "vTtbcdoOqxXUeEfFgGspw!" {
				format := "%" + flags + string(verb)
				outputs[format] = fmt.Sprintf(format, holder)
			}
		}
		outputs["Print"] = fmt.Sprint(holder)
		outputs["Errorf"] = fmt.Errorf("holder: %v", holder).Error()
		if name != "map key" { // another test checks a Secret that is used as a map key in JSON and YAML
			outputs["json"] = marshal(t, json.Marshal, holder)
			outputs["yaml"] = marshal(t, yaml.Marshal, holder)
		}
		maps.Copy(outputs, logged(holder))
		for how, text := range outputs {
			if strings.Contains(text, value) || strings.Contains(strings.ToLower(text), hex) || strings.Contains(text, "s3c") {
				t.Errorf("%s by %s shows the secret: %s", name, how, text)
			}
		}
	}
}

func marshal(t *testing.T, f func(any) ([]byte, error), v any) string {
	t.Helper()
	data, err := f(v)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return string(data)
}

func logged(v any) map[string]string {
	var text, js bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", slog.Any("secret", v))
	slog.New(slog.NewJSONHandler(&js, nil)).Info("m", slog.Any("secret", v))
	return map[string]string{"slog text": text.String(), "slog json": js.String()}
}

func TestSecretShowsThatItIsThere(t *testing.T) {
	t.Parallel()
	s, none := NewSecret("x"), NewSecret("")
	tests := []struct{ how, got, want string }{
		{"%v", fmt.Sprintf("%v", s), "[redacted]"},
		{"%s", fmt.Sprintf("%s", s), "[redacted]"},
		{"%q", fmt.Sprintf("%q", s), "[redacted]"},
		{"%x", fmt.Sprintf("%x", s), "[redacted]"},
		{"%#v", fmt.Sprintf("%#v", s), `config.Secret("[redacted]")`},
		{"String", s.String(), "[redacted]"},
		{"json", marshal(t, json.Marshal, s), `"[redacted]"`},
		{"yaml", marshal(t, yaml.Marshal, s), "'[redacted]'\n"},
		{"LogValue", s.LogValue().String(), "[redacted]"},
		{"empty", none.String(), ""},
		{"empty json", marshal(t, json.Marshal, none), `""`},
		{"Reveal", s.Reveal(), "x"},
		{"empty Reveal", none.Reveal(), ""},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.how, tt.got, tt.want)
		}
	}
	if s.Empty() || !none.Empty() || !(Secret{}).Empty() {
		t.Error("Empty is wrong")
	}
}

// Somebody prints a whole configuration by mistake. The output must not show a secret.
func TestConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base, nil)
	outputs := map[string]string{"json": marshal(t, json.Marshal, c.Models), "yaml": marshal(t, yaml.Marshal, c.Models)}
	maps.Copy(outputs, logged(c.Endpoints))
	outputs["models"] = fmt.Sprintf("%+v", c.Models)
	outputs["endpoint"] = fmt.Sprintf("%+v %#v", settingsOf[Telegram](c.Endpoints[0]), *settingsOf[Telegram](c.Endpoints[0]))
	outputs["pointer"] = fmt.Sprintf("%+v", c)
	outputs["value"] = fmt.Sprintf("%#v", *c)
	outputs["error"] = errors.New(fmt.Sprint(c)).Error()
	for how, text := range outputs {
		if strings.Contains(text, "telegram-secret") || strings.Contains(text, "main-secret") {
			t.Errorf("%s shows a secret: %s", how, text)
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		secrets []string
		want    string
	}{
		{"a secret-one b", []string{"secret-one"}, "a [redacted] b"},
		{"secret-one-longer secret-one", []string{"secret-one", "secret-one-longer"}, "[redacted] [redacted]"},
		{"short is kept", []string{"is", ""}, "short is kept"},
	}
	for _, tt := range tests {
		var secrets []Secret
		for _, s := range tt.secrets {
			secrets = append(secrets, NewSecret(s))
		}
		if got := mask(tt.text, secrets); got != tt.want {
			t.Errorf("mask(%q, %q) = %q, want %q", tt.text, tt.secrets, got, tt.want)
		}
	}
}
