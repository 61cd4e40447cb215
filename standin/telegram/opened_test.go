package telegram

import "testing"

// Source: https://core.telegram.org/bots/api#linkpreviewoptions
func TestOpened(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		v    Version
		want string
	}{
		{"no link", Version{Text: "a"}, ""},
		{"the first link", Version{Text: "🦊 https://a.org/b, https://c.org"}, "https://a.org/b"},
		{"a link without a scheme", Version{Text: "see a.org/b?c now"}, "a.org/b?c"},
		{"a hidden link", Version{Text: "a https://b.org", Entities: []Entity{{Type: "text_link", Length: 1, URL: "https://c.org"}}}, "https://c.org"},
		{"code", Version{Text: "https://a.org", Entities: []Entity{{Type: "code", Length: 13}}}, ""},
		{"off", Version{Text: "https://a.org", LinkPreviewOff: true}, ""},
		{"another one", Version{Text: "https://a.org https://b.org", LinkPreviewURL: "https://b.org"}, "https://b.org"},
	} {
		tt.v.Detected = detect(tt.v.Text, tt.v.Entities)
		if got := tt.v.Opened(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
