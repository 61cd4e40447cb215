package gateway

import (
	"context"
	"fmt"
	"strings"

	"telex/internal/chat"
)

// Some platforms, such as Slack, have a pane for conversations with the bot. The pane suggests questions, and the
// threads in the pane have names.

// MaxPrompts is the maximum number of questions that a pane suggests.
// https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
const MaxPrompts = 4

// ParsePrompts reads the questions that a pane suggests. Each line of the text is one question: the label that people see, "|",
// and the question that the model gets when a person presses the label. If a line has no "|", the label is also the question.
func ParsePrompts(text string) ([]chat.Prompt, error) {
	var list []chat.Prompt
	for line := range strings.Lines(text) {
		label, question, both := strings.Cut(strings.TrimSpace(line), "|")
		label, question = strings.TrimSpace(label), strings.TrimSpace(question)
		switch {
		case label == "" && question == "":
			continue
		case !both:
			question = label
		case label == "" || question == "":
			return nil, fmt.Errorf("a line of prompts needs a label and a question: %q", strings.TrimSpace(line))
		}
		list = append(list, chat.Prompt{Label: label, Text: question})
	}
	if len(list) == 0 || len(list) > MaxPrompts {
		return nil, fmt.Errorf("prompts must be 1 to %d lines, not %d", MaxPrompts, len(list))
	}
	return list, nil
}

// CheckText returns an error if a text is not valid as the fixed text with this key.
func CheckText(key, text string) error {
	if TextKey(key) != TextPrompts || text == "" {
		return nil
	}
	_, err := ParsePrompts(text)
	return err
}

// greet sends the greeting to a person who opened a new thread in the pane. suggestAfter sends the suggested
// questions below the greeting.
func (a *actor) greet(in chat.Inbound) { a.say(in, a.g.texts()[TextGreeting]) }

// The method opened suggests questions to a person who opened the pane on a platform whose pane has no threads. The method
// opened stores nothing, because the platform reports each opening, and the same questions may be shown again.
func (g *Gateway) opened(c chat.Conversation, to chat.Target) {
	g.wake(c, func(a *actor) {
		a.orders = append(a.orders, func() {
			a.answers.Go(func() { a.suggestPrompts(to, a.g.texts()[TextGreeting]) })
		})
	})
}

// suggestAfter suggests questions below a greeting. The turn that sends the greeting ends only after suggestAfter has
// returned. If the process dies before this turn ends, the next process suggests the questions again.
func (a *actor) suggestAfter(greeted []chat.Inbound) {
	if n := len(greeted); n > 0 && greeted[n-1].Kind == chat.Opened {
		a.suggestPrompts(greeted[n-1].To, "")
	}
}

func (a *actor) suggestPrompts(to chat.Target, heading string) {
	prompts, err := ParsePrompts(a.g.texts()[TextPrompts])
	if a.endpoint.account().pane == nil || err != nil { // err is nil, because the configuration was checked
		return
	}
	a.aside(a.g.deliveries, to, chat.OpPane, nil, func(ctx context.Context) error { return a.endpoint.account().pane.Suggest(ctx, to, heading, prompts) })
}

// nameThread names a thread of the pane. The name is the first line of the first question in the thread.
func (a *actor) nameThread(t *turn) {
	to, name := t.in.To, strings.Join(strings.Fields(firstLine(t.messages[0].Text)), " ")
	if a.endpoint.account().pane == nil || to.Kind != chat.Private || to.Thread == "" || name == "" || len(t.history.Entries) > 0 || t.history.Summary != "" {
		return
	}
	a.answers.Go(func() {
		a.aside(a.g.deliveries, to, chat.OpPane, nil, func(ctx context.Context) error { return a.endpoint.account().pane.NameThread(ctx, to, name) })
	})
}

// firstLine returns the first non-blank line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// The method rest removes the typing indicator at the end of a turn, on platforms that do not remove the indicator themselves.
// A platform whose adapter implements Idler also shows that the bot has finished its work.
func (a *actor) rest(to chat.Target) {
	if a.endpoint.account().idler == nil || a.g.deliveries.Err() != nil {
		return
	}
	waiting, cancel := context.WithTimeout(a.g.deliveries, asideTimeout) // the conversation must not wait here for a rate limit
	defer cancel()
	a.aside(a.g.deliveries, to, chat.OpTyping, waiting.Done(), func(ctx context.Context) error { return a.endpoint.account().idler.Idle(ctx, to) })
}
