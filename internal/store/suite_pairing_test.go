package store_test

import (
	"fmt"
	"reflect"
	"time"

	"telex/internal/chat"
)

func ada() chat.Person { return chat.Person{Endpoint: "tg", User: "u"} }
func eve() chat.Person { return chat.Person{Endpoint: "tg", User: "e"} }

func testPairingRequests(f *fixture) {
	ctx, start := f.Context(), time.Now().UTC()
	first := chat.PairingRequest{Person: ada(), Name: "Ada", Code: "A1", At: start.Add(time.Hour)}
	other := chat.PairingRequest{Person: chat.Person{Endpoint: "slack", User: "u"}, Name: "Ada", Code: "A2", At: start}
	same := chat.PairingRequest{Person: eve(), Name: "Eve", Code: "A3", At: start}
	for _, k := range []chat.PairingRequest{first, same, other} {
		f.must(f.SavePairingRequest(ctx, k))
	}
	check := func(want ...chat.PairingRequest) {
		f.Helper()
		f.reopen()
		got, err := f.PairingRequests(ctx)
		f.must(err)
		if !reflect.DeepEqual(got, want) {
			f.Fatalf("got %+v, want %+v", got, want)
		}
	}
	check(other, same, first)
	first.Code, first.Name, first.At = "A4", "Ada L.", start.Add(-time.Hour)
	f.must(f.SavePairingRequest(ctx, first)) // must replace the earlier request of the same person
	check(first, other, same)
	f.must(f.Admit(ctx, chat.Admission{Person: chat.Person{Endpoint: "slack", User: "u"}, At: start}))
	check(first, same)
	f.must(f.Admit(ctx, chat.Admission{Person: ada(), At: start}))
	check(same)

	// The number of people who have a valid pairing code is limited for each endpoint.
	late := func(n int) chat.PairingRequest {
		user := chat.UserID(fmt.Sprint("late", n))
		return chat.PairingRequest{Person: chat.Person{Endpoint: "tg", User: user}, Code: string(user), At: start.Add(chat.PairingLife + time.Duration(n)*time.Second)}
	}
	for n := range chat.MaxPairingRequests {
		f.must(f.SavePairingRequest(ctx, late(n))) // the earlier request has expired, so it must not count
	}
	f.is(f.SavePairingRequest(ctx, late(3)), chat.ErrManyRequests)
	f.must(f.SavePairingRequest(ctx, late(1))) // must replace the same person's request, so the limit does not apply
	elsewhere := late(4)
	elsewhere.Endpoint = "slack"
	f.must(f.SavePairingRequest(ctx, elsewhere))
	check(same, late(0), late(1), late(2), elsewhere)
}

func testAdmitted(f *fixture) {
	ctx, start := f.Context(), time.Now().UTC()
	first := chat.Admission{Person: ada(), Name: "Ada", By: "operator", At: start.Add(time.Hour)}
	second := chat.Admission{Person: eve(), Name: "Eve", By: ada().String(), At: start}
	admits := func(want ...chat.Admission) {
		f.Helper()
		f.reopen()
		got, err := f.Admitted(ctx)
		f.must(err)
		if !reflect.DeepEqual(got, want) {
			f.Fatalf("got %+v, want %+v", got, want)
		}
	}
	revoke := func(p chat.Person, want bool) {
		f.Helper()
		if was, err := f.Revoke(ctx, p); was != want || err != nil {
			f.Fatalf("revoke %s: got %v, %v, want %v", p, was, err, want)
		}
	}
	revoke(ada(), false)
	f.must(f.Admit(ctx, first))
	f.must(f.Admit(ctx, second))
	admits(second, first)
	second.By, second.At = "operator", start.Add(2*time.Hour)
	f.must(f.Admit(ctx, second)) // must replace the earlier admission of the same person
	admits(first, second)
	revoke(chat.Person{Endpoint: "slack", User: "u"}, false)
	revoke(ada(), true)
	revoke(ada(), false)
	admits(second)
}
