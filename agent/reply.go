package agent

import "strings"

// reply turns the deltas of one answer into events: text in valid UTF-8, thinking, and calls while they are written. The text
// of a reply continues the text of the turn's earlier answers.
type reply struct {
	emit         func(Event)
	thinkTags    []string
	earlierText  string          // the text of the turn's earlier answers
	fenceEnd     string          // the fence that closes a code block if earlierText ends inside one
	separator    string          // separates earlierText and text; empty while text is empty
	onCall       func(CallDelta) // nil: calls are ignored
	reasoning    strings.Builder // as the provider sent it, which some providers want back with calls; kept only if onCall is set
	filter       *thinkFilter
	incomplete   string // an incomplete character at the end of the last piece
	text         strings.Builder
	hasReasoning bool // the provider sent thinking, or the text contained some
	refusal      strings.Builder
}

func newReply(tags []string, emit func(Event)) *reply {
	return &reply{emit: emit, thinkTags: tags, filter: newThinkFilter(tags)}
}

// emptied returns a reply that follows the same earlier answers, and has no text of its own.
func (r *reply) emptied() *reply {
	next := newReply(r.thinkTags, r.emit)
	next.earlierText, next.fenceEnd, next.onCall = r.earlierText, r.fenceEnd, r.onCall
	return next
}

// restart voids the text of this answer, and returns an empty reply in its place.
func (r *reply) restart(why string) *reply {
	if r.text.Len() > 0 {
		r.reset(Reset{Reason: why})
	}
	return r.emptied()
}

// nextAnswer returns the reply for the turn's next answer, whose text follows the text of this reply. People read the texts
// before and after tool calls as one reply, in which each text begins a new paragraph.
func (r *reply) nextAnswer() *reply {
	next := r.emptied()
	if r.text.Len() > 0 {
		next.earlierText = r.earlierText + r.separator + r.text.String()
		next.fenceEnd = r.closeFence()
	}
	return next
}

// reset emits the Reset event e, which voids all text of the turn. After the Reset event, reset emits the text of the earlier
// answers again.
func (r *reply) reset(e Reset) {
	r.emit(e)
	if r.earlierText != "" {
		r.emit(Text{Delta: r.earlierText})
	}
}

// newSeparator returns the separator between the text of the earlier answers and the text of this answer.
func (r *reply) newSeparator() string {
	if r.earlierText == "" {
		return ""
	}
	if r.fenceEnd != "" {
		return r.fenceEnd + "\n\n"
	}
	ends := len(r.earlierText) - len(strings.TrimRight(r.earlierText, "\n"))
	return "\n\n"[min(ends, 2):]
}

// add adds the next piece of the answer.
func (r *reply) add(d Delta) {
	r.refusal.WriteString(d.Refusal)
	if r.onCall != nil {
		r.reasoning.WriteString(d.Reasoning)
		if d.Call != nil {
			r.onCall(*d.Call)
		}
	}
	r.emitReasoning(validUTF8(d.Reasoning))
	if d.Text != "" {
		whole, rest := cutIncomplete(r.incomplete + d.Text)
		r.incomplete = rest
		r.emitParts(r.filter.write(validUTF8(whole)))
	}
}

// close ends the answer, even if it is incomplete.
func (r *reply) close() {
	if r.incomplete != "" {
		r.emitParts(r.filter.write(validUTF8(r.incomplete)))
		r.incomplete = ""
	}
	r.emitParts(r.filter.close())
}

func (r *reply) emitParts(p thinkParts) {
	if p.reset && r.text.Len() > 0 {
		void := r.text.String()
		r.text.Reset()
		r.reset(Reset{Reason: "the text so far was thinking", Thought: true})
		r.hasReasoning = true
		r.emit(Reasoning{Delta: void})
	}
	r.emitReasoning(p.void)
	r.emitReasoning(p.reasoning)
	if p.text != "" {
		joint := ""
		if r.text.Len() == 0 {
			r.separator = r.newSeparator()
			joint = r.separator
		}
		r.text.WriteString(p.text)
		r.emit(Text{Delta: joint + p.text})
	}
}

func (r *reply) emitReasoning(s string) {
	if s != "" {
		r.hasReasoning = true
		r.emit(Reasoning{Delta: s})
	}
}

// fullText returns the text of the turn so far.
func (r *reply) fullText() string {
	if r.text.Len() == 0 {
		return strings.Trim(r.earlierText, whiteSpace)
	}
	return strings.Trim(r.earlierText+r.separator+r.text.String(), whiteSpace)
}

// answerText returns the text of the current answer, without the text of the turn's earlier answers.
func (r *reply) answerText() string { return strings.Trim(r.text.String(), whiteSpace) }

// closeFence returns the fence that closes a code block, if the text ends inside one. Without this fence, a line after the
// text would become part of the code.
func (r *reply) closeFence() string {
	if r.text.Len() == 0 {
		return r.fenceEnd
	}
	if fence := r.filter.code.closing(); fence != "" {
		return "\n" + fence
	}
	return ""
}
