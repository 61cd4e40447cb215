package receiving

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

func TestRecentForgetsTheOldest(t *testing.T) {
	t.Parallel()
	const limit = 100
	r := NewRecent[int](limit)
	for i := range 3 * limit {
		id := strconv.Itoa(i)
		if r.Has(id) {
			t.Fatalf("%s was never put", id)
		}
		r.Put(id, i)
		r.Put(id, i+1)
		old := r.Has(strconv.Itoa(i - limit))
		if v, known := r.Get(id); !known || v != i+1 || old || len(r.Values()) != min(i+1, limit) || len(r.keys) != len(r.values) {
			t.Fatalf("after %d of them %d are known", i, len(r.values))
		}
	}
}

// An error about what arrived says what is wrong with it and quotes nothing of it.
func TestDecode(t *testing.T) {
	t.Parallel()
	type event struct {
		Name string    `json:"name"`
		At   time.Time `json:"at"`
	}
	for data, want := range map[string]string{
		`{"name":["secret"]}`:             "name is not a string",
		`{"name":"x","at":"secret"}`:      "invalid time",
		`{"name":secret}`:                 "malformed JSON",
		`"secret"`:                        " is not a receiving.event",
		``:                                "malformed JSON",
		`{"name":"x"}`:                    "",
		`{"name":"x","more":{"a":[1,2]}}`: "",
	} {
		v, err := Decode[event]([]byte(data))
		switch {
		case want == "" && (err != nil || v.Name != "x"):
			t.Errorf("%s: %+v, %v", data, v, err)
		case want != "" && (err == nil || v != nil || err.Error() != want):
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	decode := func() (err error) {
		defer Recover("decode event", &err)
		panic("secret")
	}
	if err := decode(); err == nil || err.Error() != "decode event: panic: string" {
		t.Errorf("error = %v", err)
	}
}

// Reading is tried again while that may help, and waits as it is asked to.
func TestRetry(t *testing.T) {
	t.Parallel()
	limited := &chat.SendError{Kind: chat.RateLimited, RetryAfter: 30 * time.Second}
	temporary, uncertain := &chat.SendError{Kind: chat.Temporary}, &chat.SendError{Kind: chat.Uncertain}
	gone := &chat.SendError{Kind: chat.Gone}
	for name, c := range map[string]struct {
		errs []error
		want error
		took time.Duration
	}{
		"at once":         {nil, nil, 0},
		"after trouble":   {[]error{temporary, uncertain, limited}, nil, 33 * time.Second},
		"trouble goes on": {[]error{temporary, temporary, limited, temporary, nil}, temporary, 33 * time.Second},
		"for good":        {[]error{temporary, gone, nil}, gone, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, n := time.Now(), 0
				err := Retry(t.Context(), 4, func() error {
					if n++; n <= len(c.errs) {
						return c.errs[n-1]
					}
					return nil
				})
				if !errors.Is(err, c.want) || time.Since(began) != c.took {
					t.Errorf("Retry = %v after %v, want %v after %v", err, time.Since(began), c.want, c.took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := Retry(ctx, 4, func() error { return limited }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Retry = %v, want the context's error", err)
		}
	})
}
