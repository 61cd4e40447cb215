package agent

import "strings"

// reply is one answer of a model on its way to people: its text, valid UTF-8 and without thinking, told
// as events, and its calls while they are written. It goes on where the answers before it in the turn
// ended. Its memory is the text once.
type reply struct {
	emit     func(Event)
	tags     []string
	before   string          // text of the turn's earlier answers
	fence    string          // closes a code block that they left open
	joint    string          // between that and this one's text, once there is some
	call     func(CallDelta) // takes the calls; nil: nobody
	thought  strings.Builder // the thinking as the provider told it, where calls may need it
	filter   *thinkFilter
	pending  string // an incomplete character at the end of the last piece
	text     strings.Builder
	reasoned bool // some thinking came, in whichever way
	refusal  strings.Builder
}

func newReply(tags []string, emit func(Event)) *reply {
	return &reply{emit: emit, tags: tags, filter: newThinkFilter(tags)}
}

// next returns an empty reply behind the same answers.
func (r *reply) next() *reply {
	next := newReply(r.tags, r.emit)
	next.before, next.fence, next.call = r.before, r.fence, r.call
	return next
}

// again returns a reply in place of this one, which told something that is void now.
func (r *reply) again(why string) *reply {
	if r.text.Len() > 0 {
		r.reset(Reset{Reason: why})
	}
	return r.next()
}

// after returns the reply that goes on where this one ended: text before and after tool calls is one
// reply (F07), its parts a paragraph each.
func (r *reply) after() *reply {
	next := r.next()
	if r.text.Len() > 0 {
		next.before = r.before + r.joint + r.text.String()
		next.fence = r.closeFence()
	}
	return next
}

// reset voids the text of this answer and tells that of the earlier ones anew.
func (r *reply) reset(e Reset) {
	r.emit(e)
	if r.before != "" {
		r.emit(Text{Delta: r.before})
	}
}

// join is what parts the text of this answer from that before it.
func (r *reply) join() string {
	if r.before == "" {
		return ""
	}
	if r.fence != "" {
		return r.fence + "\n\n"
	}
	ends := len(r.before) - len(strings.TrimRight(r.before, "\n"))
	return "\n\n"[min(ends, 2):]
}

// add takes the next piece of the answer.
func (r *reply) add(d Delta) {
	r.refusal.WriteString(d.Refusal)
	if r.call != nil {
		r.thought.WriteString(d.Reasoning)
		if d.Call != nil {
			r.call(*d.Call)
		}
	}
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
		r.reset(Reset{Reason: "the text so far was thinking", Thought: true})
		r.reasoned = true
		r.emit(Reasoning{Delta: void})
	}
	r.reason(p.void)
	r.reason(p.reasoning)
	if p.text != "" {
		joint := ""
		if r.text.Len() == 0 {
			r.joint = r.join()
			joint = r.joint
		}
		r.text.WriteString(p.text)
		r.emit(Text{Delta: joint + p.text})
	}
}

func (r *reply) reason(s string) {
	if s != "" {
		r.reasoned = true
		r.emit(Reasoning{Delta: s})
	}
}

// said returns the text of the turn as it must stand.
func (r *reply) said() string {
	if r.text.Len() == 0 {
		return strings.Trim(r.before, whiteSpace)
	}
	return strings.Trim(r.before+r.joint+r.text.String(), whiteSpace)
}

// own returns the text of this answer alone.
func (r *reply) own() string { return strings.Trim(r.text.String(), whiteSpace) }

// closeFence returns what a line put after the text needs before it, so that it is not taken
// for code: a fence's end when the text was cut inside one.
func (r *reply) closeFence() string {
	if r.text.Len() == 0 {
		return r.fence
	}
	if fence := r.filter.code.closing(); fence != "" {
		return "\n" + fence
	}
	return ""
}
