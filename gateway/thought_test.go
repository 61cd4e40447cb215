package gateway

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestThought(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		deltas []string
		want   []string // the texts that people see, in order
	}{
		{"sentences", []string{"The user wants tides. ", "I should ", "explain the moon. Then", " the sun"}, []string{"The user wants tides.", "I should explain the moon."}},
		{"whole sentences", strings.SplitAfter("First this. Second that. Third is open", " "), []string{"First this.", "Second that."}},
		{"headings", []string{"**Looking up the tides**\n\n", "I need the height. And more. ", "\n\n**Comparing **", "ports**\n", "**Comparing ports**\n\nNow."}, []string{"Looking up the tides", "Comparing ports"}},
		{"a number is no end", []string{"Pi is 3.14159 or so", ". "}, []string{"Pi is 3.14159 or so."}},
		{"lines", []string{"one\ntwo\nthr", "ee"}, []string{"two"}},
		{"without spaces", []string{"潮の満ち引き。", "月の話"}, []string{"潮の満ち引き。"}},
		{"long", []string{strings.Repeat("word ", 1000) + "end. "}, []string{strings.Repeat("word ", 31) + "word…"}},
		{"nothing whole", []string{"hm", "mm"}, nil},
		{"nothing", []string{"\n", "...", "\n\n"}, nil},
	} {
		var th thought
		var got []string
		for _, d := range c.deltas {
			if th.add(d, time.Now()) {
				got = append(got, th.shown)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if len(th.tail) > maxThought {
			t.Errorf("%s: %d bytes are kept", c.name, len(th.tail))
		}
	}
}
