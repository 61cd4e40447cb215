package openai_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"telex/standin/openai"
)

func TestAnswerShortForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ question, want string }{
		{"say: exactly this", "exactly this"},
		{"say:  two spaces, one stays", " two spaces, one stays"},
		{"Say: <think>hm</think>**b**\n```", "<think>hm</think>**b**\n```"},
		{"say:", ""},
		{"words: 3", "one two three"},
		{"words: 0", ""},
		{"length: 0", ""},
		{"length: 1", "."},
		{"length: 2", "a."},
		{"length: 5", "ande."},
		{"recall: 1", "recall: 1"},
		{"recall: 2", "There is no user message 2, there are 1."},
		{"history:", "1. user: history:"},
		{"What did I say first?", "The first thing you said was: What did I say first?"},
		{"{{standin rate=3}} say: x", "x"},
		{"say: x {{standin rate=3}}", "x"},
	} {
		if got := openai.Answer(tc.question); got != tc.want {
			t.Errorf("Answer(%q) = %q, want %q", tc.question, got, tc.want)
		}
	}
}

func TestAnswerOnTides(t *testing.T) {
	t.Parallel()
	got := openai.Answer("Explain the tides")
	for _, want := range []string{
		"# The tides, explained 🌊\n\nTwice a day, along most coasts, the sea rises and falls.",
		"| Bay of Fundy, Canada | 16 m |",
		"It prints `07:15`, `19:40`, `08:05` and `20:30`",
		"(https://oceanservice.noaa.gov/education/tutorial_tides/) with animations.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Answer on tides lacks %q:\n%s", want, got)
		}
	}
	if again := openai.Answer("when is the next TIDE?"); again != got {
		t.Errorf("another question on tides got another text:\n%s", again)
	}
}

// TestAnswerHasAllMarkup looks for each Markdown construct in every prepared text.
func TestAnswerHasAllMarkup(t *testing.T) {
	t.Parallel()
	constructs := []string{
		`(?m)^# \S`, `(?m)^## \S`, `\*\*\w[^*]*\*\*`, `[^*]\*\w[^*]*\*[^*]`, `(?m)^- `, `(?m)^2\. `, `(?m)^\|---\|`, `(?m)^> `,
		`\[[^\]]+\]\(https://\S+\)`, "[^`]`[^`\n]+`[^`]", "(?ms)^```[a-z]+$.*^```$",
	}
	titles := map[string]bool{}
	questions := []string{"Explain the tides"}
	for i := range 60 {
		questions = append(questions, fmt.Sprintf("How do I build a boat in %d days?", i))
	}
	for _, q := range questions {
		got := openai.Answer(q)
		titles[strings.SplitN(got, " ", 4)[1]] = true
		for _, c := range constructs {
			if !regexp.MustCompile(c).MatchString(got) {
				t.Errorf("Answer(%q) has nothing like %s:\n%s", q, c, got)
			}
		}
		if n := len(strings.Fields(got)); n < 250 || n > 500 {
			t.Errorf("Answer(%q) has %d words, want a few hundred", q, n)
		}
		if q != questions[0] && !strings.Contains(got, q) {
			t.Errorf("Answer(%q) does not refer to the question:\n%s", q, got)
		}
		if got != strings.TrimSpace(got) || strings.ContainsAny(got, "{}") && strings.Contains(got, "{question}") {
			t.Errorf("Answer(%q) isn't finished:\n%s", q, got)
		}
	}
	if len(titles) != 4 {
		t.Errorf("%d texts were met, want 4: %v", len(titles), titles)
	}
}

func TestAnswerMakesQuestionInert(t *testing.T) {
	t.Parallel()
	q := "why does *this* break `code`\n```\n# not a heading | [x](y) <b>"
	got := openai.Answer(q)
	if want := `why does \*this\* break \` + "`" + `code`; !strings.Contains(got, want) {
		t.Errorf("Answer(%q) lacks the escaped question %q:\n%s", q, want, got)
	}
	if n := strings.Count(got, "\n```"); n != 2 {
		t.Errorf("Answer(%q) has %d fence lines, want 2:\n%s", q, n, got)
	}
}

func TestWordsAllDiffer(t *testing.T) {
	t.Parallel()
	words := strings.Fields(openai.Answer("words: 12345"))
	if len(words) != 12345 {
		t.Fatalf("got %d words, want 12345", len(words))
	}
	for n, want := range map[int]string{
		13: "thirteen", 20: "twenty", 21: "twenty-one", 100: "one-hundred", 342: "three-hundred-forty-two",
		1000: "one-thousand", 12345: "twelve-thousand-three-hundred-forty-five",
	} {
		if got := words[n-1]; got != want {
			t.Errorf("word %d is %q, want %q", n, got, want)
		}
	}
	slices.Sort(words)
	if n := len(slices.Compact(words)); n != 12345 {
		t.Errorf("%d of 12345 words differ", n)
	}
}

func TestLengthIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(t, "n")
		got := openai.Answer(fmt.Sprintf("length: %d", n))
		if len(got) != n || got != strings.TrimSpace(got) {
			t.Fatalf("length: %d gave %d bytes, trimmed %d", n, len(got), len(strings.TrimSpace(got)))
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Fatalf("length: %d isn't ASCII", n)
		}
		if strings.Count(got, "```")%2 != 0 {
			t.Fatalf("length: %d leaves a fence open", n)
		}
	})
}

func TestAnswerIsPure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.String().Draw(t, "question")
		first, second := openai.Answer(q), openai.Answer(q)
		if first != second {
			t.Fatalf("Answer(%q) gave %q, then %q", q, first, second)
		}
	})
}
