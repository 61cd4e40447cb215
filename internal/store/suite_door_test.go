package store_test

import (
	"reflect"
	"time"

	"telex/internal/chat"
)

func ada() chat.Person { return chat.Person{Endpoint: "tg", User: "u"} }
func eve() chat.Person { return chat.Person{Endpoint: "tg", User: "e"} }

func testKnocking(f *fixture) {
	ctx, start := f.Context(), time.Now().UTC()
	first := chat.Knocking{Person: ada(), Name: "Ada", Code: "A1", At: start.Add(time.Hour)}
	other := chat.Knocking{Person: chat.Person{Endpoint: "slack", User: "u"}, Name: "Ada", Code: "A2", At: start}
	same := chat.Knocking{Person: eve(), Name: "Eve", Code: "A3", At: start}
	for _, k := range []chat.Knocking{first, same, other} {
		f.must(f.Knock(ctx, k))
	}
	knocks := func(want ...chat.Knocking) {
		f.Helper()
		f.reopen()
		got, err := f.Knocking(ctx)
		f.must(err)
		if !reflect.DeepEqual(got, want) {
			f.Fatalf("got %+v, want %+v", got, want)
		}
	}
	knocks(other, same, first)
	first.Code, first.Name, first.At = "A4", "Ada L.", start.Add(-time.Hour)
	f.must(f.Knock(ctx, first)) // in place of the one before
	knocks(first, other, same)
	f.must(f.Unknock(ctx))
	f.must(f.Unknock(ctx, other.Person, same.Person, other.Person))
	knocks(first)
	f.must(f.Admit(ctx, chat.Admission{Person: chat.Person{Endpoint: "slack", User: "u"}, At: start}))
	knocks(first) // that was somebody else
	f.must(f.Admit(ctx, chat.Admission{Person: ada(), At: start}))
	knocks()
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
	dismiss := func(p chat.Person, want bool) {
		f.Helper()
		if was, err := f.Dismiss(ctx, p); was != want || err != nil {
			f.Fatalf("dismiss %s: got %v, %v, want %v", p, was, err, want)
		}
	}
	dismiss(ada(), false)
	f.must(f.Admit(ctx, first))
	f.must(f.Admit(ctx, second))
	admits(second, first)
	second.By, second.At = "operator", start.Add(2*time.Hour)
	f.must(f.Admit(ctx, second)) // in place of what was stored
	admits(first, second)
	dismiss(chat.Person{Endpoint: "slack", User: "u"}, false)
	dismiss(ada(), true)
	dismiss(ada(), false)
	admits(second)
}
