package preview

import (
	"slices"
	"testing"

	"telex/internal/chat"
)

// A link preview is allowed only for a URL that equals one that the asker typed. If it sufficed that a URL begins with
// a typed one, a model could append secret data to a typed URL.
func TestLinkPreview(t *testing.T) {
	t.Parallel()
	const asked = "https://a.example/x"
	r := &Reply{}
	r.cfg.Typed = func(address string) bool { return address == asked }
	for text, want := range map[string]string{
		"see " + asked:                           asked,
		"see (" + asked + "), or " + asked + ".": asked,
		"<" + asked + ">":                        asked,
		"none":                                   "",
		asked + "?q":                             "",
		asked + "/secret":                        "",
		asked + "](secret":                       "",
		asked + ")secret":                        "",
		asked + "!":                              "",
		asked + "..":                             "",
		asked + " a.leak.example":                "",
		asked + " www.leak":                      "",
		asked + " tg://leak":                     "",
		asked + " HTTPS://A.example/x":           "",
		"https://other.example":                  "",
	} {
		if got := r.linkPreview(chat.Outgoing{Text: text, Plain: text}); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, m := range []chat.Outgoing{
		{Text: "[a](https://leak.example)", Plain: "a"},
		{Text: "[" + asked + "](https://leak.example)", Plain: asked},
		{Text: asked, Plain: asked, Spans: []chat.Span{{Kind: "text_link", URL: "https://leak.example", Length: 1}}},
	} {
		if got := r.linkPreview(m); got != "" {
			t.Errorf("%+v: got %q", m, got)
		}
	}
	if got := r.linkPreview(chat.Outgoing{Text: "[a](" + asked + ")", Plain: "a"}); got != asked {
		t.Errorf("a link that the asker typed: got %q", got)
	}
	if r.cfg.Typed = nil; r.linkPreview(chat.Outgoing{Text: asked, Plain: asked}) != "" {
		t.Error("previews are on without anybody who typed")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	got := addresses("one two.\nhttps://a.example/b?c=d, (www.e.example) f@g.example h.i j 1.2 k.go e.g. <https://l.example/m>n")
	want := []string{"https://a.example/b?c=d", "www.e.example", "f@g.example", "k.go", "https://l.example/m"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
