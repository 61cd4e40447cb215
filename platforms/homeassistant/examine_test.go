package homeassistant_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"telex/platforms/conformance"
	"telex/platforms/homeassistant"
)

// Examine must report each configured name that does not exist in Home Assistant.
func TestExamine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		watch  homeassistant.Watch
		notify string
		want   string
	}{
		"nothing is wrong": {
			homeassistant.Watch{Domains: []string{"light"}, Entities: []string{"sun.sun"}, Ignore: []string{"light.kitchen"}}, "notify.mobile_app_phone", "",
		},
		"an entity is told by notify": {homeassistant.Watch{}, "notify.phone", ""},
		"mistyped names": {
			homeassistant.Watch{Domains: []string{"ligth"}, Entities: []string{"sun.sum"}, Ignore: []string{"light.kichen"}},
			"notify.fone",
			"there is no entity sun.sum|there is no entity light.kichen|there is no entity of the domain ligth|there is neither an entity nor an action notify.fone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				b := homeassistant.New(homeassistant.Options{
					URL: "http://house.test", Token: w.server.Token(), Watch: c.watch, Notify: c.notify, HTTP: w.net.Transport(t),
				})
				got, err := b.Examine(t.Context())
				var found []string
				for _, f := range got.Findings {
					found = append(found, f.What)
				}
				if text := strings.Join(found, "|"); err != nil || !strings.HasPrefix(got.Account, "Home (") || text != c.want {
					t.Errorf("Examine = %+v, %v, want %q", got, err, c.want)
				}
				if v := w.Violations(); len(v) > 0 {
					t.Errorf("violations: %q", v)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, how := range []conformance.Connection{conformance.WrongSecret, conformance.Unreachable} {
			if got, err := w.Connect(nil, how).(*homeassistant.Bot).Examine(t.Context()); err == nil || strings.Contains(err.Error(), wrongToken) { // no error may contain a token, not even an invalid one
				t.Errorf("Examine = %+v, %v", got, err)
			}
		}
	})
}
