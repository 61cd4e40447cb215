package preview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// restore takes over the messages of a reply from the records of an earlier process. The earlier process may have died
// during a call. So the content in a record counts as visible only after the platform has accepted the same content
// again.
func (s *state) restore(parts []chat.Part, now time.Time) {
	slices.SortFunc(parts, func(a, b chat.Part) int { return a.Index - b.Index })
	end, left := 0, -1
	for _, r := range parts {
		switch {
		case r.Index <= questionIndex:
			s.restoreQuestion(r, now)
			continue
		case r.Index < 0:
			s.restoreSuperseded(r, now)
			continue
		}
		for len(s.parts) <= r.Index {
			s.parts = append(s.parts, message{})
		}
		p := &s.parts[r.Index]
		p.gen, p.source = generation(r.Key), r.Source
		s.restoreMessage(p, r, now)
		if r.State == chat.PartStands {
			s.muted = s.muted || r.Index > 0
		}
		s.restoreRole(p, r.Ref)
		s.restoreStanding(p, r)
		if left < 0 && !p.exists() && s.leftBehind(r) {
			left = r.Index
		}
		if p.exists() {
			s.displayed, s.source = true, s.source+r.Source
			end += len(r.Source)
			if r.State == chat.PartResent {
				s.resent = r.Index + 1
			} else if r.Source == "" && !p.blank() { // the message shows a part of the final, whose Markdown is in the ending
				s.finalBegan, end = true, end+len(r.Text)
			}
			p.shown.body.end = end
		}
	}
	if left >= 0 && s.can(chat.OpDelete) {
		// The part with the index left is sent again and appears below the later parts in the new chat, so replace the later
		// parts as well.
		for i := len(s.parts) - 1; i > left; i-- {
			s.replaceMessage(i)
		}
	}
	for _, m := range s.superseded {
		s.markAbove(m.place)
	}
	for i := range s.parts {
		if p := &s.parts[i]; p.gen > 0 && !p.exists() && !p.abandoned {
			// The new message of part i appears below the messages of later parts.
			s.markAbove(i)
		}
	}
	s.recoveredLength = len(s.source)
}

// restoreCertainty restores the content of messages if this process showed the reply before and so knows the content
// for certain.
func (s *state) restoreCertainty(known []message) {
	for i := range s.parts[:min(len(s.parts), len(known))] {
		p, k := &s.parts[i], &known[i]
		if p.phase == standing && k.phase == standing && p.ref == k.ref {
			end := p.shown.body.end
			p.certainty, p.shown, p.earlierBody, p.foreignEdits = k.certainty, k.shown, k.earlierBody, k.foreignEdits
			p.shown.body.end = end
		}
	}
}

// restoreMessage restores a message from its record.
func (s *state) restoreMessage(m *message, r chat.Part, now time.Time) {
	m.ref, m.certainty, m.shown = r.Ref, unsure, display{body: recorded(r), cursor: r.Cursor}
	m.attempt.firstAt, m.file, m.attempt.create = r.First, r.File, r.Create
	switch r.State {
	case chat.PartIntended:
		// The create call of the earlier process may have made the message. At most one more create call follows, with
		// the final. If the record has a cursor, the message is not a stream.
		m.attempt.streams = m.role == roleText && s.can(chat.OpStart) && !r.Cursor
		s.recordUncertainCreate(m, now)
		m.attempt.pendingUntil = s.taken.Add(callTimeout)
		if m.attempt.processes = max(1, r.Tries); m.attempt.processes >= maxTries && m.attempt.unresolved > 0 {
			m.attempt.unresolved = maxUncertainCreates
		}
		m.attempt.mixed = m.attempt.resolution == byKey // it is unknown which payloads the earlier process sent
	case chat.PartStreams:
		if m.phase = standing; s.can(chat.OpStart) {
			m.phase = streaming
		}
	case chat.PartRefused:
		m.abandoned = true
	case chat.PartGone:
		m.phase = gone
		m.gen++
		s.mute(m)
	case chat.PartSealed:
		m.phase, m.nextStart = standing, new(markup.Mark)
		s.mute(m) // it is unknown where the next part starts in the new text
	case chat.PartStands, chat.PartResent:
		m.phase = standing
	}
	if until := s.taken.Add(previewTimeout); m.exists() && r.Cursor && until.After(now) {
		m.foreignEdits = until
	}
	if s.leftBehind(r) && (m.exists() || m.attempt.open()) {
		m.renew()
	}
}

// recorded returns the payload from the record r of a message.
func recorded(r chat.Part) payload {
	b := payload{rendered: markup.Rendered{Text: r.Text}, plain: cmp.Or(r.Plain, r.Text)}
	for _, span := range r.Spans {
		b.rendered.Spans = append(b.rendered.Spans, markup.Span(span))
	}
	return b
}

// restoreStanding restores the certainty of a message that can't be edited, and the maximum length with which the part
// was cut. A message without an id certainly shows the content of its create call. Cutting the text at the same places
// as before is necessary for messages that can't be edited, and saves calls for other messages.
func (s *state) restoreStanding(p *message, r chat.Part) {
	if p.file { // the caption of a file can't be edited
		p.certainty = sure
	}
	if p.exists() && p.ref.ID == "" {
		p.certainty, s.muted, s.nameless = sure, true, true
	}
	if r.Cut <= 0 || !p.exists() && !p.doubtful() && !p.abandoned {
		return
	}
	if !s.can(chat.OpEdit) && p.exists() {
		p.certainty = sure
	}
	if r.Index == len(s.cuts) {
		s.cuts = append(s.cuts, r.Cut)
	}
	s.limit = min(s.limit, r.Cut)
}

// generation returns the number of earlier messages of the part, which the idempotency key contains after a plus sign.
func generation(key string) int {
	_, n, _ := strings.Cut(key, "+")
	gen, _ := strconv.Atoi(n) // 0 if the key contains no number
	return gen
}
