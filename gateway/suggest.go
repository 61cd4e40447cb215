package gateway

import (
	"unicode/utf8"

	"telex/internal/chat"
)

// suggest names the command that a mistyped one is near, if there is one that the sender may use. It reports
// false for everything else that begins with a slash, which is a question like any other.
func (a *actor) suggest(in chat.Inbound) bool {
	admin := a.g.door.Rules().Admin(a.person(in))
	for _, c := range a.g.commands() {
		if !c.Asks && (!c.Admin || admin) && mistyped(in.Command, c.Name) {
			a.say(in, a.g.Texts.fill(TextDidYouMean, "command", a.slash(in.To)+c.Name))
			return true
		}
	}
	return false
}

// mistyped says that typed is a command's name but for one slip, or two where the name is long enough to be
// recognized: a letter that is missing, too many or wrong, or two letters in the wrong order.
func mistyped(typed, name string) bool {
	slips := 1
	if len(name) > 5 {
		slips = 2
	}
	return utf8.RuneCountInString(typed) > 1 && slipsBetween([]rune(typed), []rune(name)) <= slips
}

// slipsBetween is the optimal string alignment distance: the smallest number of insertions, deletions,
// substitutions and swaps of neighbours that make b of a.
// https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance#Optimal_string_alignment_distance
func slipsBetween(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+differ)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
