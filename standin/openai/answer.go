package openai

import (
	"embed"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed texts/*.md
var texts embed.FS

// maxAsked is the maximum number in a question such as `words: 200` or `length: 9000`.
const maxAsked = 4 << 20

var (
	tidesRE       = regexp.MustCompile(`(?i)\btides?\b`)
	pictureRE     = regexp.MustCompile(`(?i)^what (?:is|do you see) (?:in|on) (?:this|the) (?:picture|photo|image)\b`)
	saidFirstRE   = regexp.MustCompile(`(?i)^what did i (?:say|ask|write) first\b`)
	saidBeforeRE  = regexp.MustCompile(`(?i)^what did i (?:just say|(?:say|ask|write) (?:before|last))\b`)
	askingWordsRE = regexp.MustCompile(`(?i)^(?:please )?(?:explain|describe|summari[sz]e|compare|tell me about|what (?:is|are)|who (?:is|was)|how (?:do|does) (?:i|you|one|we)|how to|write about) +`)
	markupRE      = regexp.MustCompile("[\\\\`*_{}\\[\\]<>()#+|~!-]")
)

// said is one message of a conversation as the model reads it, without the directives.
type said struct {
	role, text string
	images     []Image
	documents  []Document
}

// Answer returns the server's answer to a conversation whose only message is this question. Answer ignores all rules,
// and removes directives from the question. The same question gives the same bytes in every process.
func Answer(question string) string {
	text, _, err := cutDirectives(question)
	if err != nil {
		text = question
	}
	return answer([]said{{role: "user", text: text}})
}

// answer returns the text for the last user message of a conversation.
func answer(talk []said) string {
	users := userTexts(talk)
	if len(users) == 0 {
		return essay("Say something")
	}
	question := users[len(users)-1]
	if summarizeRE.MatchString(question) {
		return summary(talk)
	}
	if word, rest, ok := strings.Cut(question, ":"); ok {
		if text, ok := command(word, strings.TrimPrefix(rest, " "), talk, users); ok {
			return text
		}
	}
	switch {
	case pictureRE.MatchString(question) && len(lastQuestion(talk).images) > 0:
		return "I see a picture: " + listImages(lastQuestion(talk).images)
	case saidFirstRE.MatchString(question):
		return "The first thing you said was: " + users[0]
	case saidBeforeRE.MatchString(question) && len(users) > 1:
		return "Before this you said: " + users[len(users)-2]
	}
	return essay(question)
}

// command returns the answer to a question in a short form such as "say: x", whose two parts are the parameters word
// and rest. ok is false if the question is not a short form.
func command(word, rest string, talk []said, users []string) (text string, ok bool) {
	switch strings.ToLower(word) {
	case "say":
		return rest, true
	case "history":
		lines := make([]string, len(talk))
		for i, m := range talk {
			lines[i] = fmt.Sprintf("%d. %s: %s", i+1, m.role, m.text)
		}
		return strings.Join(lines, "\n"), true
	case "images":
		return listImages(lastQuestion(talk).images), true
	case "files":
		return listDocuments(lastQuestion(talk).documents), true
	}
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil || n < 0 || n > maxAsked {
		return "", false
	}
	switch strings.ToLower(word) {
	case "recall":
		if n < 1 || n > len(users) {
			return fmt.Sprintf("There is no user message %d, there are %d.", n, len(users)), true
		}
		return users[n-1], true
	case "words":
		return numberWords(n), true
	case "length":
		return textOfLength(n), true
	}
	return "", false
}

// userTexts returns the texts of the user's messages, oldest first.
func userTexts(talk []said) []string {
	var users []string
	for _, m := range talk {
		if m.role == "user" {
			users = append(users, m.text)
		}
	}
	return users
}

// lastQuestion returns the last user message.
func lastQuestion(talk []said) said {
	for _, m := range slices.Backward(talk) {
		if m.role == "user" {
			return m
		}
	}
	return said{}
}

// essay returns the default answer: a few hundred words of Markdown that refer to the question.
func essay(question string) string {
	name := "tides"
	if !tidesRE.MatchString(question) {
		names := []string{"method", "briefing", "workshop"}
		name = names[hashOf(question)%uint64(len(names))]
	}
	page, err := texts.ReadFile("texts/" + name + ".md")
	if err != nil {
		// The files are compiled in, so only a misspelt name can fail here. The tests read all compiled-in files, so they
		// find a misspelt name.
		panic("openai: " + err.Error())
	}
	line := clip(strings.Join(strings.Fields(question), " "), 160)
	topic := strings.TrimRight(askingWordsRE.ReplaceAllString(line, ""), " ?!.")
	if topic == "" {
		topic = line
	}
	text := strings.NewReplacer(
		"{question}", escape(line),
		"{topic}", escape(clip(topic, 60)),
		"{quoted}", strconv.Quote(line),
	).Replace(string(page))
	return strings.TrimSpace(text)
}

// clip shortens a line to n characters. If it cuts the line, clip adds an ellipsis.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}

// escape escapes the Markdown in a line, so that a quoted question can't break the format of the answer around it.
func escape(line string) string {
	return markupRE.ReplaceAllStringFunc(line, func(c string) string {
		if c == "-" || c == "(" || c == ")" || c == "!" || c == "+" {
			return c // this character is harmless in the middle of a line, and ugly when escaped
		}
		return `\` + c
	})
}

// hashOf returns a hash of a text. The hash of a text is the same in every process.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // Write never fails, as hash.Hash guarantees
	// The low bits of FNV hashes of short strings differ little, so mix in the high bits.
	v := h.Sum64()
	return v ^ v>>29 ^ v>>47
}
