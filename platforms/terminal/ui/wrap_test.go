package ui

import (
	"slices"
	"testing"
)

// When a line is wrapped, the continuation of the line must have the same indentation as its beginning: quotes must
// keep their bar, and list items must keep their indent.
func TestWrapKeepsIndents(t *testing.T) {
	t.Parallel()
	const bold, plain = "\x1b[1m", plainStyle
	for _, c := range []struct {
		name  string
		text  string
		width int
		want  []string
	}{
		{"text", "one two three", 8, []string{"one two", "three"}},
		{"quote", "│ one two three", 9, []string{"│ one two", "│ three"}},
		{"quote in a quote", "│ │ one two three", 11, []string{"│ │ one two", "│ │ three"}},
		{"list", "• one two three", 9, []string{"• one two", "  three"}},
		{"list in a list", "  ◦ one two three", 11, []string{"  ◦ one two", "    three"}},
		{"numbers", "10. one two three", 11, []string{"10. one two", "    three"}},
		{"list in a quote", "│ • one two three", 11, []string{"│ • one two", "│   three"}},
		{"indented", "  one two three", 9, []string{"  one two", "  three"}},
		{"styled", "• " + bold + "one two three" + plain, 9, []string{"• " + bold + "one two" + plain, "  " + bold + "three" + plain}},
		{"each line by itself", "• one two\nthree four", 8, []string{"• one", "  two", "three", "four"}},
		{"no room for an indent", "          • one two", 12, []string{"          •", "one two"}},
		{"a bar alone", "│", 8, []string{"│"}},
		{"empty", "", 8, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := wrap(c.text, c.width); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
