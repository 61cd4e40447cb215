package access

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// shelf is an in-memory Store whose calls can be made to fail.
type shelf struct {
	requests []chat.PairingRequest
	admitted []chat.Admission
	fail     error
}

func (s *shelf) PairingRequests(context.Context) ([]chat.PairingRequest, error) {
	return s.requests, s.fail
}

func (s *shelf) SavePairingRequest(_ context.Context, k chat.PairingRequest) error {
	if s.fail != nil {
		return s.fail
	}
	s.requests = append(s.requests, k)
	return nil
}

func (s *shelf) Admit(_ context.Context, a chat.Admission) error {
	if s.fail != nil {
		return s.fail
	}
	s.admitted = append(s.admitted, a)
	return nil
}

func (s *shelf) Admitted(context.Context) ([]chat.Admission, error) { return s.admitted, s.fail }

func (s *shelf) Moves(context.Context) ([]chat.Move, error) { return nil, nil }

func (s *shelf) Revoke(_ context.Context, p chat.Person) (bool, error) {
	for i, a := range s.admitted {
		if a.Person == p {
			s.admitted = append(s.admitted[:i], s.admitted[i+1:]...)
			return true, s.fail
		}
	}
	return false, s.fail
}

func person(i int) chat.Person {
	return chat.Person{Endpoint: "tg", User: chat.UserID(strconv.Itoa(i))}
}

func private(p chat.Person) chat.Conversation {
	return chat.Conversation{Endpoint: p.Endpoint, Chat: chat.ChatID(p.User)}
}

func newPolicy(t *testing.T, s *shelf) *Policy {
	t.Helper()
	d := NewPolicy(Rules{Pair: true}, s, slog.New(slog.DiscardHandler))
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPairingCodeLetsInItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		d, p := newPolicy(t, s), person(1)
		if d.Allows(private(p), p.User) || !d.NeedsCode(p, "Eve") {
			t.Fatal("a stranger is let in, or not given a code")
		}
		code, err := d.Code(t.Context(), p, "Eve")
		if err != nil || !regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{8}$`).MatchString(code) {
			t.Fatalf("got code %q, %v", code, err)
		}
		if _, err := d.Approve(t.Context(), "ZZZZZZZZ", "operator"); !errors.Is(err, ErrCode) {
			t.Errorf("a wrong code: got %v", err)
		}
		a, err := d.Approve(t.Context(), " "+code+" ", "operator")
		if err != nil || a.Person != p || a.Name != "Eve" || !d.Allows(private(p), p.User) {
			t.Errorf("got %+v, %v", a, err)
		}
		if _, err := d.Approve(t.Context(), code, "operator"); !errors.Is(err, ErrCode) {
			t.Errorf("a code that was used: got %v", err)
		}
		if again := newPolicy(t, s); !again.Allows(private(p), p.User) || len(again.Admitted()) != 1 {
			t.Error("forgotten by the next process")
		}
		if err := d.Revoke(t.Context(), p, "operator"); err != nil || d.Allows(private(p), p.User) {
			t.Errorf("revoked: %v, still let in: %t", err, d.Allows(private(p), p.User))
		}
		if err := d.Revoke(t.Context(), p, "operator"); !errors.Is(err, ErrNobody) {
			t.Errorf("revoked twice: got %v", err)
		}
	})
}

func TestPairing_limitsOpenRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPolicy(t, &shelf{})
		answers := 0
		for range 50 {
			for i := range 5 {
				if d.NeedsCode(person(i), "x") {
					answers++
				}
			}
			time.Sleep(time.Second)
		}
		if answers != 3 || len(d.PairingRequests()) != 3 {
			t.Errorf("got %d answers and %d codes, want 3", answers, len(d.PairingRequests()))
		}
		if !d.NeedsCode(chat.Person{Endpoint: "other", User: "1"}, "") {
			t.Error("another endpoint has no room")
		}
		time.Sleep(chat.PairingLife)
		if !d.NeedsCode(person(4), "x") || len(d.PairingRequests()) != 1 {
			t.Error("codes last longer than an hour")
		}
	})
}

func TestPairing_ignoresUnansweredRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		d, p := newPolicy(t, s), person(1)
		d.NeedsCode(p, "")
		d.Withdraw(p)
		if !d.NeedsCode(p, "") {
			t.Error("a person who was not answered can't ask again")
		}
		s.fail = errors.New("disk full")
		if _, err := d.Code(t.Context(), p, ""); !errors.Is(err, s.fail) {
			t.Errorf("got %v, want the store's error", err)
		}
		s.fail = nil
		// The first process could not store its code, so the next process makes another code.
		if code, err := newPolicy(t, s).Code(t.Context(), p, ""); err != nil || code == "" {
			t.Errorf("got %q, %v", code, err)
		}
	})
}

func TestCodesSurviveClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		year := 365 * 24 * time.Hour
		for _, c := range []struct {
			name  string
			at    time.Duration // when the code was made, relative to the current clock
			valid bool
		}{
			{"now", 0, true},
			{"half an hour ahead: the clock was set back", 30 * time.Minute, true},
			{"a year ahead", year, false},
			{"a year ago: the clock was set forward", -year, false},
		} {
			k := chat.PairingRequest{Person: person(1), Code: "ABCD1234", At: time.Now().Add(c.at).Round(0)}
			d := newPolicy(t, &shelf{requests: []chat.PairingRequest{k}})
			if got := len(d.PairingRequests()) == 1; got != c.valid {
				t.Errorf("%s: valid %t, want %t", c.name, got, c.valid)
			}
			if got := d.NeedsCode(person(1), ""); got == c.valid {
				t.Errorf("%s: given a new code: %t, want %t", c.name, got, !c.valid)
			}
		}
	})
}

func TestNamesOfStrangersFitOneLine(t *testing.T) {
	long := ""
	for range 100 {
		long += "é"
	}
	for in, want := range map[string]string{
		"Ann Lee": "Ann Lee", "a\n\x1b[31mb\u202e": "a [31mb", "": "", long: long[:128],
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	r := Rules{
		Allow:  []Rule{{Endpoint: "tg", User: "7"}, {Endpoint: "tg", Chat: "-5"}, {Endpoint: "other"}},
		Admins: []Rule{{Endpoint: "tg", User: "1"}}, Operators: "cli",
	}
	for _, c := range []struct {
		endpoint chat.EndpointID
		chat     chat.ChatID
		user     chat.UserID
		allowed  bool
		admin    bool
		named    bool
	}{
		{"tg", "7", "7", true, false, true},
		{"tg", "-9", "7", true, false, true},
		{"tg", "-5", "8", true, false, false},
		{"tg", "8", "8", false, false, false},
		{"tg", "1", "1", true, true, true},
		{"other", "1", "1", true, false, false},
		{"cli", "main", "operator", true, true, false},
		{"elsewhere", "1", "1", false, false, false},
	} {
		con, p := chat.Conversation{Endpoint: c.endpoint, Chat: c.chat}, chat.Person{Endpoint: c.endpoint, User: c.user}
		if got := r.Allows(con, c.user); got != c.allowed {
			t.Errorf("%v in %v: allowed %t, want %t", p, con, got, c.allowed)
		}
		if got := r.Admin(p); got != c.admin {
			t.Errorf("%v: admin %t, want %t", p, got, c.admin)
		}
		if got := r.Names(p); got != c.named {
			t.Errorf("%v: named %t, want %t", p, got, c.named)
		}
	}
	if (Rules{}).Allows(chat.Conversation{}, "") {
		t.Error("the zero Rules let somebody in")
	}
}
