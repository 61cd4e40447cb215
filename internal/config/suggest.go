package config

import (
	"fmt"
	"slices"
	"strings"
)

// suggest returns a hint for a misspelled word: it contains the most similar candidate, or all candidates if none is
// similar.
func suggest(written string, candidates []string) string {
	if near := nearest(written, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(candidates) == 0 {
		return ""
	}
	sorted := slices.Clone(candidates)
	slices.Sort(sorted)
	return "known are " + strings.Join(sorted, ", ")
}

// nearest returns the candidate with the smallest edit distance to a word. nearest returns "" if every distance is
// larger than about a third of the word's length. If several candidates have the smallest distance, nearest returns
// the alphabetically first one.
func nearest(written string, candidates []string) string {
	word := strings.ReplaceAll(strings.ToLower(written), "-", "_")
	best, bestDistance := "", max(1, (len([]rune(word))+1)/3)+1
	for _, c := range candidates {
		d := distance(word, strings.ReplaceAll(c, "-", "_"))
		if d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance returns the edit distance of a and b: the smallest number of insertions, deletions, replacements and swaps
// of adjacent characters that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
