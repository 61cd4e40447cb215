package chat

// Join returns the session that results when two conversations are merged. The resulting summary contains both summaries, the
// older one first. The resulting session has the chosen model of s, or that of o if s has none. The resulting SummaryUpto is
// the larger of the two values, so the caller must give larger IDs to entries that no summary covers.
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
