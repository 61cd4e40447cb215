package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// question is a person's question, with the answer that the model always gives to it.
type question struct {
	chat   int64 // id of the chat, which is negative for a group
	user   int64 // the person who asks, if the chat is a group
	text   string
	answer string  // the model's answer in Markdown
	want   string  // text that the person must see in the end
	rate   float64 // words per second
	help   bool    // the question is a command, which the daemon answers without the model
}

// length is the kind of answer: how long it is, and in how many messages it is sent.
type length uint8

const (
	brief  length = iota // the answer is one message that is sent once
	medium               // the answer is one message that is sent and then edited
	long                 // three messages
)

// firstChat is the id of the first person's private chat. All chat ids have five digits. So no id is a part of another id, and
// no question contains the text of another question.
const firstChat = 10_000

// helpText is the text with which the daemons answer /help. The configuration of the daemons replaces telex's own help by this
// text.
const helpText = "This is the help of a telex that is killed now and then."

// ask returns a question that somebody asks in a chat. The model answers by counting up from 1, so missing and repeated parts
// are easy to see.
func ask(random *rand.Rand, chat int64, l length) question {
	q := question{chat: chat, text: fmt.Sprintf("Question %d", chat)}
	words, seconds := 0, 0.0
	switch l {
	case brief:
		words, seconds = 5+random.IntN(10), 0.05
	case medium:
		words, seconds = 250+random.IntN(100), 1.2+0.6*random.Float64()
	case long:
		words, seconds = 2400+random.IntN(200), 1.2+0.6*random.Float64()
	}
	q.rate = float64(words) / seconds
	q.answer, q.want = count(chat, words)
	return q
}

// count returns an answer that counts up in several paragraphs, in two forms: as Markdown and as visible text.
func count(chat int64, words int) (markdown, visible string) {
	var b strings.Builder
	fmt.Fprintf(&b, "Answer %d begins:", chat)
	for i := 1; i <= words; i++ {
		b.WriteString(" " + strconv.Itoa(i))
		switch {
		case i%200 == 0:
			b.WriteString("\n\nThen")
		case i%50 == 0:
			b.WriteString(" **and on**")
		}
	}
	fmt.Fprintf(&b, " and ends. (%d)", chat)
	return b.String(), strings.ReplaceAll(b.String(), "*", "")
}

// last returns the end of the answer, which contains a text that occurs nowhere else in the chat.
func (q question) last() string { return fmt.Sprintf("ends. (%d)", q.chat) }

// command returns a question that is a command. The daemon answers a command with a fixed text.
func command(chat int64) question {
	return question{chat: chat, text: "/help", want: helpText, help: true}
}
