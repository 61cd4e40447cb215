package discord

import (
	"slices"
	"testing"
)

func TestOpened(t *testing.T) {
	t.Parallel()
	for content, want := range map[string][]string{
		"a": nil,
		"see https://a.org/b?c=d, (http://e.org)": {"https://a.org/b?c=d", "http://e.org"},
		"[a](https://a.org/b)":                    {"https://a.org/b"},
		"<https://a.org> [b](<https://b.org>)":    nil,
		"`https://a.org` ```\nhttps://b.org\n```": nil,
		"a.org www.b.org":                         nil,
	} {
		if got := (Version{Content: content}).Opened(); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
		if got := (Version{Content: content, Flags: flagSuppressEmbeds}).Opened(); got != nil {
			t.Errorf("%q with previews off: got %q", content, got)
		}
	}
}
