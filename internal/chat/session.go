package chat

// Join returns the session of two conversations that are merged. It combines both summaries, the older one first. The
// chosen model is the one of s, or else of o. SummaryUpto is the larger one, so entries that no summary covers must
// come after it.
func (s Session) Join(o Session) Session {
	out := Session{Model: s.Model, Compactions: s.Compactions + o.Compactions, SummaryUpto: max(s.SummaryUpto, o.SummaryUpto)}
	if out.Model == "" {
		out.Model = o.Model
	}
	older, newer := o, s
	if s.At.Before(o.At) {
		older, newer = s, o
	}
	out.At, out.Summary = newer.At, older.Summary
	if out.Summary != "" && newer.Summary != "" {
		out.Summary += "\n\n"
	}
	out.Summary += newer.Summary
	return out
}
