package telegram

import (
	"net/http/httptest"
	"strings"
	"testing"

	"telex/standin/rig"
)

func FuzzReadParams(f *testing.F) {
	f.Add("application/json", `{"a":{"b":1}}`)
	f.Add("application/x-www-form-urlencoded", "a=%7B&b=1;c")
	f.Add("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--")
	f.Fuzz(func(t *testing.T, kind, body string) {
		r := httptest.NewRequest("POST", "/bot1:a/sendMessage", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		form, err := rig.ReadForm(r, maxBody)
		if err != nil {
			return
		}
		p := params{form}
		for name := range p.Values {
			p.integer(name)
			p.flag(name)
			var list []Entity
			if _, refused := rig.Run[apiError](func() any { return p.object(name, &list, badRequest("x")) }); refused == nil {
				continue
			}
		}
	})
}
