package attachment

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	for _, c := range []struct {
		name, data string
		limit      int
		want       string
		cut        bool
	}{
		{"nothing", "", many, "", false},
		{"ASCII", "a\tb\nc", many, "a\tb\nc", false},
		{"UTF-8", "größe 🦊\n", many, "größe 🦊\n", false},
		{"UTF-8 with a mark", "\xef\xbb\xbfgröße", many, "größe", false},
		{"marks in the middle", "a\ufeffb", many, "ab", false},
		{"line ends", "a\r\nb\rc\n\rd\r\r\ne\r", many, "a\nb\nc\n\nd\n\ne\n", false},
		{"control characters", strings.Repeat("text ", 20) + "\x00\x1b[31m\x7f\u0085", many, strings.Repeat("text ", 20) + "[31m", false},
		{"damaged UTF-8", strings.Repeat("größe ", 20) + "\xc3", many, strings.Repeat("größe ", 20) + "\ufffd", false},
		{"UTF-16, little end first", "\xff\xfeg\x00\xf6\x00\x3e\xd8\x8a\xdd", many, "gö🦊", false},
		{"UTF-16, big end first", "\xfe\xff\x00g\x00\xf6\xd8\x3e\xdd\x8a", many, "gö🦊", false},
		{"UTF-16 of nothing", "\xff\xfe", many, "", false},
		{"Latin-1", "Gr\xf6\xdfe: 5 m\xb2", many, "Größe: 5 m²", false},
		{"Windows-1252", "\x93quoted\x94 \x96 5 \x80", many, "“quoted” – 5 €", false},
		{"as long as allowed", "abc", 3, "abc", false},
		{"longer", "abcd", 3, "abc", true},
		{"cut before a character", "aaa🦊", 6, "aaa", true},
		{"cut just behind one", "aaa🦊b", 7, "aaa🦊", true},
		{"Latin-1 grows", "aaaaa\xf6\xf6", 7, "aaaaaö", true},
		{"what is left out does not count", strings.Repeat("a", 40) + "\x00b", 41, strings.Repeat("a", 40) + "b", false},
		{"nothing allowed", "a", 0, "", true},
		{"less than nothing allowed", "a", -1, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, cut, err := Decode([]byte(c.data), c.limit)
			if err != nil || got != c.want || cut != c.cut {
				t.Errorf("Decode = %q, %t, %v, want %q, %t", got, cut, err, c.want, c.cut)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a program":            program[:1<<16],
		"a picture":            asPNG(t, halves(40, 30, blue)),
		"a photo":              asJPEG(t, halves(40, 30, blue)),
		"mostly NUL":           []byte("a\x00b\x00c\x00"),
		"UTF-32":               []byte("\xff\xfe\x00\x00a\x00\x00\x00b\x00\x00\x00"),
		"Cyrillic of one byte": []byte("\xcf\xf0\xe8\xe2\xe5\xf2"),
		"broken UTF-16":        []byte("\xff\xfe\x00\xd8\x00\xd8\x00\xd8\x00\xd8"),
	} {
		if got, _, err := Decode(data, 1000); !errors.Is(err, ErrUnreadable) || got != "" {
			t.Errorf("%s: Decode = %q, %v, want %v", name, got, err, ErrUnreadable)
		}
	}
}

// Decode must return any text unchanged. If the file was cut, Decode must return the text before the cut unchanged.
func TestDecodeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom(nil, unicode.Letter, unicode.Space, unicode.So)).Draw(t, "text")
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == byteOrderMark || r == utf8.RuneError {
				return '\n'
			}
			return r
		}, text)
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		got, cut, err := Decode([]byte(text), limit)
		if err != nil || !strings.HasPrefix(text, got) || cut != (len(text) > limit) || !cut && got != text {
			t.Fatalf("Decode = %q, %t, %v", got, cut, err)
		}
		if cut && len(got) < limit-utf8.UTFMax {
			t.Fatalf("%d of %d bytes are used", len(got), limit)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfeg\x00\xf6\x00\x3e\xd8"), 5)
	f.Add([]byte("Gr\xf6\xdfe\r\n\x00"), 100)
	f.Add([]byte("größe 🦊\xc3"), 7)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		text, _, err := Decode(bytes.Clone(data), limit)
		switch {
		case err != nil && (text != "" || !errors.Is(err, ErrUnreadable)):
			t.Fatalf("Decode = %q, %v", text, err)
		case !utf8.ValidString(text) || len(text) > max(0, limit):
			t.Fatalf("Decode = %q for a limit of %d", text, limit)
		case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
			t.Fatalf("control characters are left in %q", text)
		}
	})
}
