package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// answer is a text that the model writes. An answer consists of letters, white space and Markdown characters. Platforms may
// hide the white space and the Markdown characters, but always show the letters. From the visible letters, the bench can
// therefore tell exactly how much of the answer a person sees.
type answer struct {
	text   string
	letter string // the letters of text, without all other characters
	place  []int  // offset of each letter in text
}

func newAnswer(text string) answer {
	a := answer{text: text}
	var b strings.Builder
	for i := range len(text) {
		if !silent(rune(text[i])) {
			b.WriteByte(text[i])
			a.place = append(a.place, i)
		}
	}
	a.letter = b.String()
	return a
}

// silent reports whether a platform may hide this character of an answer. Characters that a platform may hide do not count when
// the bench compares texts.
func silent(r rune) bool { return strings.ContainsRune(" \n*`#", r) }

// letters returns the letters of a visible text.
func letters(visible string) string {
	return strings.Map(func(r rune) rune {
		if silent(r) {
			return -1
		}
		return r
	}, visible)
}

// visible returns how many bytes of the answer a person sees if the letters in the parameter seen are visible. The
// result exact is true if these letters are a beginning of the answer.
func (a answer) visible(seen string) (bytes int, exact bool) {
	n := 0
	for n < len(seen) && n < len(a.letter) && seen[n] == a.letter[n] {
		n++
	}
	if n == len(a.letter) {
		return len(a.text), n == len(seen)
	}
	return a.place[n], n == len(seen)
}

// plainAnswer returns an answer that consists of one paragraph with the given number of tokens. A token is a short
// word with a space, 6.7 characters on average. Each seed results in a different answer.
func plainAnswer(seed uint64, tokens int) answer {
	r := rand.New(rand.NewPCG(seed, 1))
	words := make([]string, tokens)
	for i := range words {
		words[i] = word(r, []int{5, 6, 6}[i%3])
	}
	return newAnswer(strings.Join(words, " "))
}

// markdownAnswer returns an answer with about the given number of tokens. The answer consists of headings, and of
// paragraphs with bold words and code. A token has 5 characters.
func markdownAnswer(seed uint64, tokens int) answer {
	r := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	for n := 0; n < tokens; {
		if n > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("## " + word(r, 6) + " " + word(r, 6) + "\n\n")
		words := make([]string, 80)
		for i := range words {
			words[i] = word(r, 3+i%3)
			switch i % 20 {
			case 7:
				words[i] = "**" + words[i] + "**"
			case 13:
				words[i] = "`" + words[i] + "`"
			}
		}
		b.WriteString(strings.Join(words, " "))
		n += 4 + len(words)*6/5
	}
	return newAnswer(b.String())
}

// word returns a random lower-case word with the given number of letters.
func word(r *rand.Rand, length int) string {
	consonants, vowels := "bcdfghjklmnprstvwz", "aeiou"
	w := make([]byte, length)
	for i := range w {
		from := consonants
		if i%2 == 1 {
			from = vowels
		}
		w[i] = from[r.IntN(len(from))]
	}
	return string(w)
}

// percentile returns the smallest value that at least percent of the values do not exceed (nearest rank).
func percentile(values []float64, percent int) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*percent+99)/100-1]
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
