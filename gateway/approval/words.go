package approval

import (
	"slices"
	"strings"
	"unicode"
)

// YesWords and NoWords are the words with which people may answer a question for approval, separated by commas. In all
// widely written languages, each word in the lists means either only yes or only no. The lists leave out ambiguous
// words, such as the Danish "tak" (thanks), the Spanish "ya" (already) and "si" (if), the German "da" (there), and
// "igen" (yes in Hungarian, again in Swedish). An ambiguous word must never count as yes, because the bot would then
// run a tool call without approval. An ambiguous word may count as no, because the tool call is then only skipped.
const (
	YesWords = "yes, y, yep, yeah, yup, sure, ok, okay, approve, approved, go ahead, do it, ja, jep, jawohl, mach das, oui, ouais, d'accord, " +
		"sí, vale, claro, sim, sì, va bene, kyllä, joo, evet, tamam, có, " +
		"да, так, ναι, نعم, כן, हाँ, हां, 是, 是的, 好, 好的, 可以, はい, 네, 예, 응, 👍, 👌, ✅, ✔, 🆗"
	NoWords = "no, n, nope, nah, deny, denied, don't, nein, ne, nee, nö, non, não, nao, nej, nei, ei, nie, nem, hayır, hayir, tidak, không, nu, " +
		"нет, ні, όχι, οχι, لا, לא, नहीं, 不, 不是, 不要, 不行, 否, いいえ, だめ, 아니요, 아니, 👎, ❌, 🚫, ⛔"
)

// Besides a yes or a no, an answer may contain the polite words in these lists.
const (
	besideYes = "please, pls, plz, bitte, s'il te plaît, s'il vous plaît, svp, por favor, per favore, alsjeblieft, пожалуйста"
	besideNo  = "thanks, thank you, danke, merci, gracias, obrigado, obrigada, grazie, спасибо"
)

// SaysYes reports whether a text consists only of words that mean yes and polite words.
func SaysYes(words, said string) bool { return saysOnly(words, besideYes, said) }

// SaysNo reports whether a text consists only of words that mean no and polite words.
func SaysNo(words, said string) bool { return saysOnly(words, besideNo, said) }

func saysOnly(list, polite, said string) bool {
	words, more := wordsOf(list), wordsOf(polite)
	found := false
	for rest := answerWords(said); rest != ""; {
		w, ok := beginning(rest, words)
		found = found || ok
		if !ok {
			if w, ok = beginning(rest, more); !ok {
				return false
			}
		}
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, w), " ")
	}
	return found
}

// wordsOf splits a comma-separated list into words, longest first.
func wordsOf(list string) []string {
	var words []string
	for w := range strings.SplitSeq(list, ",") {
		if w = answerWords(w); w != "" {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	return words
}

// The function beginning returns the word of a list with which a text begins.
func beginning(text string, words []string) (string, bool) {
	for _, w := range words {
		if rest, ok := strings.CutPrefix(text, w); ok && (rest == "" || rest[0] == ' ') {
			return w, true
		}
	}
	return "", false
}

// answerWords normalizes an answer: lower case, single spaces, and without punctuation and skin tones. answerWords
// keeps question marks, because "yes?" does not mean yes.
func answerWords(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 0x1F3FB && r <= 0x1F3FF, r == '\uFE0F', r == '\uFE0E': // skin tones and variation selectors
		case strings.ContainsRune(".,!;¡。！，、", r):
			b.WriteByte(' ')
		case r == '’':
			b.WriteByte('\'')
		case unicode.Is(unicode.So, r):
			b.WriteString(" " + string(r) + " ")
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
