package chat

// Join returns the session of two conversations that are merged. Join combines both summaries, the older one first.
// Join keeps the chosen model of s, or that of o if s has none. SummaryUpto is the larger of the two values, so
// entries that no summary covers must have larger IDs.
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
