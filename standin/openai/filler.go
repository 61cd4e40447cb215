package openai

import (
	"fmt"
	"strings"
)

// numberWords returns the numbers from one to n, each as one word. All words are different, so that missing, duplicate
// or misplaced words are easy to find.
func numberWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = spell(i + 1)
	}
	return strings.Join(words, " ")
}

// spell returns the number n, which is at least 1 and less than 10,000,000, as one hyphenated word: 21 is "twenty-one".
func spell(n int) string {
	small := []string{
		"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	tens := []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	parts := func(n int, unit string, size int) string {
		word := spell(n/size) + "-" + unit
		if n%size != 0 {
			word += "-" + spell(n%size)
		}
		return word
	}
	switch {
	case n < 20:
		return small[n]
	case n < 100:
		if n%10 == 0 {
			return tens[n/10]
		}
		return tens[n/10] + "-" + small[n%10]
	case n < 1000:
		return parts(n, "hundred", 100)
	case n < 1_000_000:
		return parts(n, "thousand", 1000)
	default:
		return parts(n, "million", 1_000_000)
	}
}

// textOfLength returns exactly n characters of Markdown: numbered blocks of every kind, then plain text. The text is
// ASCII, so its length in bytes, code points and UTF-16 units is the same. The text does not begin or end with white
// space.
func textOfLength(n int) string {
	if n == 0 {
		return ""
	}
	var b strings.Builder
	for i := 1; ; i++ {
		block := fillerBlock(i)
		// At least two characters must remain for the plain text.
		if b.Len()+len(block)+2 > n {
			break
		}
		b.WriteString(block)
	}
	b.WriteString(fillerRest(n - b.Len()))
	return b.String()
}

// fillerBlock returns the i-th block of Markdown, which ends with an empty line.
func fillerBlock(i int) string {
	switch i % 6 {
	case 1:
		return fmt.Sprintf("## Section %d\n\n", i)
	case 2:
		return fmt.Sprintf("Paragraph %d holds **bold text**, *italic text* and `code %d`, and it is long enough that a "+
			"client which wraps its lines has something to do with it, as real answers have.\n\n", i, i)
	case 3:
		return fmt.Sprintf("- item %d.1 with a [link](https://example.com/%d)\n- item %d.2 with ~~struck~~ text\n\n", i, i, i)
	case 4:
		return fmt.Sprintf("```go\nfunc block%d() int {\n\treturn %d\n}\n```\n\n", i, i)
	case 5:
		return fmt.Sprintf("| key | value |\n|---|---|\n| row %d | %d |\n\n", i, i*i)
	default:
		return fmt.Sprintf("1. step %d.1\n2. step %d.2\n\n> quote %d\n\n", i, i, i)
	}
}

// fillerRest returns n ≥ 1 characters of plain text that ends with a full stop.
func fillerRest(n int) string {
	text := []byte(strings.Repeat("and so on ", n/10+1)[:n])
	text[n-1] = '.'
	if n > 1 && text[n-2] == ' ' {
		text[n-2] = 'e'
	}
	return string(text)
}
