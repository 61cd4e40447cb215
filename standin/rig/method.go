package rig

// Run runs a method and returns its result. If the method panics with an *E to refuse the call, Run returns the *E. After
// any other panic, Run panics again with the same value.
func Run[E any](method func() any) (result any, refused *E) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *E:
			refused = p
		default:
			panic(p)
		}
	}()
	return method(), nil
}

// RefuseIf refuses the current call by a panic with the error refusal, if the call breaks a rule.
func RefuseIf[E any](broken bool, refusal *E) {
	if broken {
		panic(refusal)
	}
}

// On returns a method of a server S that passes a request R to the function run. find returns the object to which the
// request refers, such as a chat.
func On[S, R, T any](find func(S, R) T, run func(S, R, T) any) func(S, R) any {
	return func(s S, r R) any { return run(s, r, find(s, r)) }
}

// OnBoth is like On, for two objects such as a chat and a message.
func OnBoth[S, R, T, U any](find func(S, R) (T, U), run func(S, R, T, U) any) func(S, R) any {
	return func(s S, r R) any {
		t, u := find(s, r)
		return run(s, r, t, u)
	}
}
