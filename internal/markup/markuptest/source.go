package markuptest

import (
	"embed"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

//go:embed answers/*.md
var answers embed.FS

// Answers returns typical answers of models, by name.
func Answers(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := answers.ReadDir("answers")
	if err != nil {
		tb.Fatal(err)
	}
	out := make(map[string]string)
	for _, f := range files {
		text, err := answers.ReadFile(path.Join("answers", f.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		out[strings.TrimSuffix(f.Name(), ".md")] = string(text)
	}
	return out
}

// Nasty generates texts of complete and incomplete constructs, and texts that a platform or a terminal may read as
// commands.
func Nasty() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"**", "*", "_", "~~", "~", "`", "``", "```", "[", "]", "(", ")", "](https://e.org/x)", "](", "![", "<", ">", "&amp;", "&am", "\\", "|",
			"\n", "\n", "\n\n", "\n\n", "\n- ", "\n1. ", "\n  - ", "\n> ", "\n> > ", "\n```go\n", "\n```\n", "\n    ", "\n| a | b |\n|---|:-:|\n| ", "\n|a|\n|-|\n",
			"\n# ", "\n---\n", "\n===\n", "\n[1]: https://e.org\n", "\n[^1]: note ", " ", " ", " ", " ", " ", " ",
			"word", "two words", "more words here, really.", "snake_case", "2 * 3", "~5 km", "a*b", "[1]", "[^1]", "$x_1$", "$", "$$", "\n$$\n", `\(`, `\)`, `\[`, `\]`,
			"\n<details>\n<summary>", "</summary>\n", "</details>", "\n</details>\n\n",
			"<b>", "</b>", "<div>", "\n<div>\n", "<a href=\"", "\">", "<br>", "<!--", "-->", "👨‍👩‍👧", "🇩🇪", "1️⃣", "世界", "你好，", "これは。", "e\u0301", "❤️", "שלום",
			"https://e.org", "www.e.org/a_b", "me@e.org", "@everyone", "@some_user ", "<!channel>", "<@U123>", "[x](tg://user?id=7)", "[ ] ", "- ", "- [x] ",
			"**bold** ", "*it* ", "`code` ", "[link](https://e.org) ", "\t", "==", "\r\n", "\x1b[31m", "\u009b1m", "\x07", "\u202e", "\x00", "\xff", "\u200d", "\ufe0f",
		}), 1, 50).Draw(t, "snippets"), "")
	})
}
