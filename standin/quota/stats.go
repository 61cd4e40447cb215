package quota

// Stats are the counters of one scope.
type Stats struct {
	// Counted are the calls that counted against the limit.
	Counted int `json:"counted"`
	// TooManyRequests are the 429s that closed the scope.
	TooManyRequests int `json:"too_many_requests"`
}

// Of returns the counters of a scope among all, and adds them first where there are none.
func Of(all map[string]*Stats, scope string) *Stats {
	if all[scope] == nil {
		all[scope] = &Stats{}
	}
	return all[scope]
}

// Copy returns a copy of all that shares nothing with it.
func Copy(all map[string]*Stats) map[string]*Stats {
	list := make(map[string]*Stats, len(all))
	for name, st := range all {
		c := *st
		list[name] = &c
	}
	return list
}
