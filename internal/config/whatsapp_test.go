package config

import (
	"strings"
	"testing"
)

func TestWhatsApp(t *testing.T) {
	t.Parallel()
	const number = "  whatsapp: {access_token: hidden, phone_number_id: \"106540352242922\", app_secret: hidden, verify_token: hidden, listen: \":8646\""
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", base + "  whatsapp: {token: x}\n", []string{
			`4:3: missing key "access_token" in platforms.whatsapp; add "access_token: ${NAME}" or "access_token_file: PATH"`,
			`4:3: missing key "app_secret" in platforms.whatsapp; add "app_secret: ${NAME}" or "app_secret_file: PATH"`,
			`4:3: missing key "listen" in platforms.whatsapp; add "listen: ..."`,
			`4:3: missing key "phone_number_id" in platforms.whatsapp; add "phone_number_id: ..."`,
			`4:3: missing key "verify_token" in platforms.whatsapp; add "verify_token: ${NAME}" or "verify_token_file: PATH"`,
			`4:14: unknown key "token" in platforms.whatsapp; known are access_token, access_token_file, api_base, app_secret, app_secret_file, kind, listen, phone_number_id, verify_token, verify_token_file`,
		}},
		{"a number", base + strings.Replace(number, "106540352242922", "+1 555 078 3881", 1) + "}\n", []string{
			`4:36: invalid platforms.whatsapp.phone_number_id: "+1 555 078 3881"; write the id of the number, which is digits only, not the number`,
		}},
		{"listen", base + strings.Replace(number, ":8646", "8646", 1) + "}\n", []string{
			`4:114: invalid listen address "8646" in platforms.whatsapp.listen; write it as 127.0.0.1:8646`,
		}},
		{"a version", base + number + ", api_base: \"https://graph.facebook.com/v26.0\"}\n", []string{
			"4:131: platforms.whatsapp.api_base has a version; telex adds the version of the API",
		}},
		{"api_base", base + number + ", api_base: graph}\n", []string{
			"4:131: invalid URL in platforms.whatsapp.api_base; write it as https://host/path",
		}},
		{"twice", base + number + "}\n" + strings.Replace(number, "whatsapp", "b", 1) + ", kind: whatsapp}\n", []string{
			"5:29: the phone number of platforms.b is also that of platforms.whatsapp; every number needs one endpoint",
			"5:107: the address of platforms.b is also that of platforms.whatsapp; every endpoint needs its own",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("config.yaml", []byte(c.text), nil)
			checkErrors(t, err, c.want)
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
	c := mustParse(t, base+strings.Replace(number, `"106540352242922"`, "106540352242922", 1)+", api_base: \"http://127.0.0.1:8085/\"}\n", nil)
	w, ok := c.Endpoints[1].Settings.(*WhatsApp)
	if !ok || w.PhoneNumberID != "106540352242922" || w.APIBase != "http://127.0.0.1:8085" || w.AccessToken.Reveal() != "hidden" {
		t.Errorf("%+v", w)
	}
	var shown strings.Builder
	if err := c.Show(&shown); err != nil || strings.Contains(shown.String(), "hidden") || !strings.Contains(shown.String(), "phone_number_id: \"106540352242922\"") {
		t.Errorf("shown is %s, %v", shown.String(), err)
	}
}
