package agent

import (
	"strings"
	"unicode/utf8"
)

// reply is the model's text on its way to people: valid UTF-8, without thinking, told as
// events. Its memory is the text once.
type reply struct {
	emit     func(Event)
	filter   *thinkFilter
	pending  string // an incomplete character at the end of the last piece
	text     strings.Builder
	tokens   *TokenCounter
	reasoned bool // some thinking came, in whichever way
	refusal  strings.Builder
}

func newReply(tags []string, tokens *TokenCounter, emit func(Event)) *reply {
	return &reply{emit: emit, filter: newThinkFilter(tags), tokens: tokens}
}

// add takes the next piece of the answer.
func (r *reply) add(d Delta) {
	r.refusal.WriteString(d.Refusal)
	r.reason(validUTF8(d.Reasoning))
	if d.Text != "" {
		whole, rest := cutIncomplete(r.pending + d.Text)
		r.pending = rest
		r.say(r.filter.write(validUTF8(whole)))
	}
}

// close takes the end of the answer, whole or cut.
func (r *reply) close() {
	if r.pending != "" {
		r.say(r.filter.write(validUTF8(r.pending)))
		r.pending = ""
	}
	r.say(r.filter.close())
}

func (r *reply) say(p parted) {
	if p.reset && r.text.Len() > 0 {
		void := r.text.String()
		r.text.Reset()
		r.emit(Reset{Reason: "the text so far was thinking"})
		r.reasoned = true
		r.emit(Reasoning{Delta: void})
	}
	r.reason(p.void)
	r.reason(p.reasoning)
	if p.text != "" {
		r.tokens.Add(p.text)
		r.text.WriteString(p.text)
		r.emit(Text{Delta: p.text})
	}
}

func (r *reply) reason(s string) {
	if s != "" {
		r.tokens.Add(s)
		r.reasoned = true
		r.emit(Reasoning{Delta: s})
	}
}

// said returns the text as it must stand.
func (r *reply) said() string { return strings.Trim(r.text.String(), whiteSpace) }

// closeFence returns what a line put after the text needs before it, so that it is not taken
// for code: a fence's end when the text was cut inside one.
func (r *reply) closeFence() string {
	if fence := r.filter.code.closing(); fence != "" {
		return "\n" + fence
	}
	return ""
}

// cutIncomplete parts s before a character whose last bytes may still come.
func cutIncomplete(s string) (whole, rest string) {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i], s[i:]
			}
			break
		}
	}
	return s, ""
}

// validUTF8 replaces each byte that is no UTF-8. (strings.ToValidUTF8 replaces each run of
// them, which depends on how the text is cut.)
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
