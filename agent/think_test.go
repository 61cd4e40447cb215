package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// part passes pieces through a filter and returns all text and all thinking. Text that later turned out to be thinking is put
// before the other thinking, because the moment of that discovery depends on how the text is split.
func part(pieces ...string) (text, reasoning string) {
	var void string
	f := newThinkFilter([]string{"think", "thinking"})
	take := func(p thinkParts) {
		if p.reset {
			void += text + p.void
			text = ""
		}
		reasoning += p.reasoning
		text += p.text
	}
	for _, p := range pieces {
		take(f.write(p))
	}
	take(f.close())
	return text, void + reasoning
}

// F34: the model's thinking must not be shown as text.
func TestThinkingIsRemovedF34(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for _, tt := range []struct{ name, in, text, reasoning string }{
		{"none", "Hello.", "Hello.", ""},
		{"at the start", "<think>hm</think>Hello.", "Hello.", "hm"},
		{"white space around", "\n <think>\nhm\n</think>\n\nHello.", "Hello.", "\nhm\n"},
		{"upper case", "<THINK>hm</Think>Hello.", "Hello.", "hm"},
		{"second name", "<thinking>hm</thinking>Hello.", "Hello.", "hm"},
		{"name not configured", "<ponder>hm</ponder>", "<ponder>hm</ponder>", ""},
		{"name that begins alike", "<thinker>hm</thinker>", "<thinker>hm</thinker>", ""},
		{"no letter k but the Kelvin sign", "<thin\u212a>a", "<thin\u212a>a", ""},
		{"two blocks", "<think>a</think> <think>b</think>Hello.", "Hello.", "ab"},
		{"block between paragraphs", "One.\n<think>a</think>\nTwo.", "One.\n\nTwo.", "a"},
		{"opening tag by the template", "hm, so\n</think>\n\nHello.", "Hello.", "hm, so\n"},
		{"opening tag by the template, on one line", "hm</think>Hello.", "Hello.", "hm"},
		{"opening tag by template and model", "<think>\n<think>\nhm</think>Hello.", "Hello.", "\n<think>\nhm"},
		{"nested", "<think>a<think>b</think>c</think>Hello.", "Hello.", "ca<think>b"},
		{"closed twice at a line start", "<think>a\n</think>\nb\n</think>\nHello.", "Hello.", "b\na\n"},
		{"not closed", "<think>hm and so on", "", "hm and so on"},
		{"not closed, later", "Hello.\n<think>hm", "Hello.\n", "hm"},
		{"cut inside the closing tag", "<think>hm</thi", "", "hm</thi"},
		{"cut inside the opening tag", "<thi", "<thi", ""},
		{"only white space", " \n", "", ""},
		{"empty block", "<think></think>Hello.", "Hello.", ""},
		{"in the middle of a line", "Models write <think> first.", "Models write <think> first.", ""},
		{"in a code span", "`<think>` opens it and `</think>` closes it.", "`<think>` opens it and `</think>` closes it.", ""},
		{"in a wide code span", "``a ` <think> </think>`` b", "``a ` <think> </think>`` b", ""},
		{"a span ends with its line", "a ` b\n<think>c</think>d", "a ` b\nd", "c"},
		{"in a fence", fence + "html\n<think>a</think>\n" + fence + "\nEnd.", fence + "html\n<think>a</think>\n" + fence + "\nEnd.", ""},
		{"in a wide fence", "~~~~\n~~~\n<think>\n~~~~\n", "~~~~\n~~~\n<think>\n~~~~\n", ""},
		{"after a fence", fence + "\na\n" + fence + "\n<think>b</think>c", fence + "\na\n" + fence + "\nc", "b"},
		{"a fence's mark with text is none", fence + "\n" + fence + "x\n<think>\n" + fence + "\n", fence + "\n" + fence + "x\n<think>\n" + fence + "\n", ""},
		{"back-ticks after the marks open no fence", fence + "a" + fence + "\n<think>b</think>c", fence + "a" + fence + "\nc", "b"},
		{"other tags", "a <b>bold</b> < c", "a <b>bold</b> < c", ""},
		{"closing tag mentioned after thinking", "<think>a</think>Write </think> then.", "Write </think> then.", "a"},
		{"markers in the text stay text (F59)", "[tool: time]\nIt is 5.", "[tool: time]\nIt is 5.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, reasoning := part(tt.in)
			if text != tt.text || reasoning != tt.reasoning {
				t.Errorf("whole: got %q, thinking %q\nwant %q, thinking %q", text, reasoning, tt.text, tt.reasoning)
			}
			text, reasoning = part(strings.Split(tt.in, "")...)
			if text != tt.text || reasoning != tt.reasoning {
				t.Errorf("piecemeal: got %q, thinking %q\nwant %q, thinking %q", text, reasoning, tt.text, tt.reasoning)
			}
		})
	}
}

func TestOnlyTagsAreHeldBack(t *testing.T) {
	t.Parallel()
	f := newThinkFilter([]string{"think"})
	for _, tt := range []struct{ piece, want string }{
		{"a <", "a "}, {"b", "<b"}, {" </thin", " "}, {"g", "</thing"}, {"\n", "\n"}, {"<t", ""}, {"hink>x", ""}, {"</think>y", "y"},
	} {
		if got := f.write(tt.piece).text; got != tt.want {
			t.Errorf("after %q: got %q, want %q", tt.piece, got, tt.want)
		}
	}
}

// modelText draws a random text from pieces that the filter treats specially.
func modelText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"<think>", "</think>", "<THINKING>", "</thinking>", "<", "</", "<th", ">", "`", "``", "```", "~~~",
			"\n", " ", "word", "é", "😀", "\xff", "\xe2\x82",
		}), 0, 30).Draw(t, "parts"), "")
	})
}

// cutAt splits s at random bytes.
func cutAt(t *rapid.T, s string) []string {
	var pieces []string
	for s != "" {
		n := rapid.IntRange(1, len(s)).Draw(t, "cut")
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

func TestFilterDoesNotDependOnChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := modelText().Draw(t, "in")
		wantText, wantReasoning := part(in)
		text, reasoning := part(cutAt(t, in)...)
		if text != wantText || reasoning != wantReasoning {
			t.Fatalf("in pieces: %q, thinking %q\nwhole: %q, thinking %q", text, reasoning, wantText, wantReasoning)
		}
	})
}

// FuzzThinkFilter cuts a text into pieces of equal length. The filter's result for the pieces must be the same as for the whole
// text.
func FuzzThinkFilter(f *testing.F) {
	f.Add("<think>a</think>b", 3)
	f.Add("a\n</think>\nb `</think>`", 1)
	f.Add("```\n<think>\n```\n<thinking>", 5)
	f.Fuzz(func(t *testing.T, in string, step int) {
		step = max(step, 1)
		var pieces []string
		for rest := in; rest != ""; {
			n := min(step, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		wantText, wantReasoning := part(in)
		text, reasoning := part(pieces...)
		if text != wantText || reasoning != wantReasoning {
			t.Errorf("in pieces: %q, thinking %q\nwhole: %q, thinking %q", text, reasoning, wantText, wantReasoning)
		}
		if n := len(text) + len(reasoning); n > len(in) {
			t.Errorf("%d bytes made of %d", n, len(in))
		}
	})
}

func TestReplyDoesNotDependOnChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := modelText().Draw(t, "in")
		run := func(pieces ...string) (text, told string) {
			r := newReply([]string{"think", "thinking"}, func(e Event) {
				switch e := e.(type) {
				case Text:
					if strings.ContainsRune(strings.ToValidUTF8(e.Delta, "\x00"), 0) {
						t.Fatalf("event %q is not UTF-8", e.Delta)
					}
					told += e.Delta
				case Reset:
					told = ""
				}
			})
			for _, p := range pieces {
				r.add(Delta{Text: p})
			}
			r.close()
			return r.fullText(), told
		}
		want, _ := run(in)
		got, told := run(cutAt(t, in)...)
		if got != want {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
		if strings.Trim(told, whiteSpace) != want {
			t.Fatalf("told %q, want %q", told, want)
		}
	})
}
