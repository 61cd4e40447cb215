package rig

// On is a method of a server S about what find finds in a request R, such as the chat in which it is to act; nothing
// found is the answer, an error E.
func On[S, R, T, E any](find func(S, R) (T, *E), run func(S, R, T) (any, *E)) func(S, R) (any, *E) {
	return func(s S, r R) (any, *E) {
		t, err := find(s, r)
		if err != nil {
			return nil, err
		}
		return run(s, r, t)
	}
}

// OnBoth is On for two things, such as a chat and a message.
func OnBoth[S, R, T, U, E any](find func(S, R) (T, U, *E), run func(S, R, T, U) (any, *E)) func(S, R) (any, *E) {
	return func(s S, r R) (any, *E) {
		t, u, err := find(s, r)
		if err != nil {
			return nil, err
		}
		return run(s, r, t, u)
	}
}
