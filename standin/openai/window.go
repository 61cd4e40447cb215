package openai

import (
	"math"
	"strings"
)

// promptTokens counts the tokens of a request. Each message costs four tokens in addition to its text, roughly as in
// https://github.com/openai/openai-cookbook (counting tokens). Calls, images, files and declared tools cost additional
// tokens.
func (r *chatRequest) promptTokens(b behaviour) (messages, functions int) {
	for _, m := range r.Messages {
		messages += 4 + len(Tokens(strings.ToValidUTF8(m.text, "\uFFFD")))
		for _, c := range m.ToolCalls {
			messages += 1 + len(Tokens(c.Function.Name)) + len(Tokens(c.Function.Arguments))
		}
		for _, image := range m.images {
			messages += image.tokens()
		}
		for _, d := range m.documents {
			messages += d.tokens()
		}
	}
	for _, t := range r.Tools {
		functions += 4 + len(Tokens(t.Function.Name)) + len(Tokens(t.Function.Description)) + len(Tokens(string(t.Function.Parameters)))
	}
	return b.scaled(messages), b.scaled(functions)
}

// scaled multiplies a number of tokens by the setting token_factor.
func (b behaviour) scaled(tokens int) int {
	if b.tokenFactor == 0 {
		return tokens
	}
	return int(math.Ceil(float64(tokens) * b.tokenFactor))
}

// checkWindow refuses a request if its prompt and the longest answer that it allows do not fit into the context window
// together. https://platform.openai.com/docs/guides/error-codes
func (r *chatRequest) checkWindow(b behaviour) {
	if b.context == 0 {
		return
	}
	const code = "context_length_exceeded"
	messages, functions := r.promptTokens(b)
	output, asked := r.maxTokens()
	total := messages + functions
	refuse := func(format string, args ...any) {
		panic(invalid("messages", code, "This model's maximum context length is %d tokens. However, "+format, append([]any{b.context}, args...)...))
	}
	switch {
	case asked && total+output > b.context && functions > 0:
		refuse("you requested %d tokens (%d in the messages, %d in the functions, and %d in the completion). Please reduce the length of "+
			"the messages, functions, or completion.", total+output, messages, functions, output)
	case asked && total+output > b.context:
		refuse("you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			total+output, messages, output)
	case total > b.context && functions > 0:
		refuse("your messages resulted in %d tokens (%d in the messages, %d in the functions). Please reduce the length of the messages or "+
			"functions.", total, messages, functions)
	case total > b.context:
		refuse("your messages resulted in %d tokens. Please reduce the length of the messages.", total)
	}
}

// mostTokens returns the maximum length of the answer in tokens: the request's limit, or the rest of the context window
// if that is less. ok is false if neither limits the answer.
func (r *chatRequest) mostTokens(b behaviour) (most int, ok bool) {
	most, ok = r.maxTokens()
	if b.context == 0 {
		return most, ok
	}
	messages, functions := r.promptTokens(b)
	left := b.context - messages - functions
	if ok {
		return min(most, left), true
	}
	return left, true
}
