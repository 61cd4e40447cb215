package markup

import (
	"strings"

	"pgregory.net/rapid"
)

// words generates the words of random Markdown: several scripts, emoji of several code points, and characters that have
// a meaning in some markup.
func words() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"alpha", "beta,", "gamma.", "a", "I", "end!", "snake_case_name", "2", "1984", "x=1", "C++", "R&D", "AT&T;", "&amp;",
		"世界", "你好，", "これは長い文です。", "สวัสดี", "👋", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "❤️", "1️⃣", "e\u0301", "naïve", "\\*", "\\_x\\_",
		"5", "*", "_", "~", "a*b*c", "https://example.org/a_b?c=d", "me@example.org", "www.example.org", "(paren)", "[note]", "<b>", "<br>",
		"a|b", "#tag", "--", "…", "\"quoted\"", "supercalifragilisticexpialidocious",
	})
}

// inlineText generates one line of inline Markdown.
func inlineText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var out []string
		for range rapid.IntRange(1, 6).Draw(t, "words") {
			kind := rapid.IntRange(0, 12).Draw(t, "kind")
			if depth <= 0 {
				kind = 12
			}
			inner := func() string { return inlineText(depth-1).Draw(t, "inner") }
			switch kind {
			case 0:
				out = append(out, "**"+inner()+"**")
			case 1:
				out = append(out, "*"+inner()+"*")
			case 2:
				out = append(out, "_"+inner()+"_")
			case 3:
				out = append(out, "~~"+inner()+"~~")
			case 4:
				out = append(out, "`"+words().Draw(t, "code")+" "+words().Draw(t, "code")+"`")
			case 5:
				out = append(out, "["+inner()+"](https://example.org/"+words().Draw(t, "path")+")")
			case 6:
				out = append(out, "![alt](https://example.org/i.png)")
			case 7:
				out = append(out, "***"+inner()+"***")
			default:
				out = append(out, words().Draw(t, "word"))
			}
		}
		return strings.Join(out, " ")
	})
}

// markdown generates a text of several blocks.
func markdown(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "blocks") {
			out.WriteString(blockText(depth).Draw(t, "block"))
			out.WriteString(rapid.SampledFrom([]string{"\n\n", "\n\n", "\n\n", "\n"}).Draw(t, "gap"))
		}
		return out.String()
	})
}

func blockText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		line := func() string { return inlineText(2).Draw(t, "line") }
		kind := rapid.IntRange(0, 11).Draw(t, "kind")
		if depth <= 0 {
			kind = min(kind, 5)
		}
		switch kind {
		case 0:
			return strings.Repeat("#", rapid.IntRange(1, 6).Draw(t, "level")) + " " + line()
		case 1:
			return "```" + rapid.SampledFrom([]string{"", "go", "python"}).Draw(t, "language") + "\n" + codeText(t) + "```"
		case 2:
			return "---"
		case 3:
			return line() + "\n" + line()
		case 4, 5:
			return line()
		case 6:
			return tableText(t)
		case 7, 8, 9:
			return listText(t, depth)
		case 10:
			return prefixed("> ", "> ", markdown(depth-1).Draw(t, "quote"))
		default:
			return "    " + strings.ReplaceAll(strings.TrimSpace(codeText(t)), "\n", "\n    ")
		}
	})
}

func codeText(t *rapid.T) string {
	var out strings.Builder
	for range rapid.IntRange(1, 6).Draw(t, "lines") {
		out.WriteString(strings.Repeat("  ", rapid.IntRange(0, 2).Draw(t, "indent")))
		out.WriteString(strings.Join(rapid.SliceOfN(words(), 0, 6).Draw(t, "code"), " "))
		out.WriteString("\n")
	}
	return out.String()
}

func listText(t *rapid.T, depth int) string {
	var out strings.Builder
	mark := rapid.SampledFrom([]string{"- ", "* ", "1. ", "7) ", "- [ ] ", "- [x] "}).Draw(t, "mark")
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		content := inlineText(2).Draw(t, "item")
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "nested") == 0 {
			content += "\n" + blockText(depth-1).Draw(t, "child")
		}
		width := 2
		if mark[0] == '1' || mark[0] == '7' {
			width = 3
		}
		out.WriteString(prefixed(mark, strings.Repeat(" ", width), content))
		out.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n\n"}).Draw(t, "between"))
	}
	return strings.TrimRight(out.String(), "\n")
}

func tableText(t *rapid.T) string {
	columns := rapid.IntRange(1, 4).Draw(t, "columns")
	row := func() string {
		cells := make([]string, columns)
		for i := range cells {
			cells[i] = strings.ReplaceAll(inlineText(1).Draw(t, "cell"), "|", "\\|")
		}
		return "| " + strings.Join(cells, " | ") + " |"
	}
	align := make([]string, columns)
	for i := range align {
		align[i] = rapid.SampledFrom([]string{"---", ":--", "--:", ":-:"}).Draw(t, "align")
	}
	out := row() + "\n|" + strings.Join(align, "|") + "|"
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		out += "\n" + row()
	}
	return out
}

// prefixed puts the parameter first before the first line of s, and the parameter rest before each other line.
func prefixed(first, rest, s string) string {
	return first + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+rest)
}
