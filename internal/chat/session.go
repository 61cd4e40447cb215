package chat

// Join returns the session of two conversations that become one: both summaries, the older first, and the choice made
// in s, else in o. SummaryUpto is the larger one; the entries that no summary stands for must come after it.
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
