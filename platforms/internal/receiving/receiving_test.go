package receiving

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
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

// The error about an invalid payload must say what is wrong, and must not quote the payload.
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

// Retry must repeat a call only if the failure may be temporary. After a rate limit, Retry must wait as long as the
// platform asks.
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
				err := Retry(t.Context(), 4, time.Second, func() error {
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
		if err := Retry(ctx, 4, time.Second, func() error { return limited }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Retry = %v, want the context's error", err)
		}
	})
}

// If ReadBacklog can't read one piece of the missed messages, the other pieces must neither wait nor fail. ReadBacklog
// must read newly found pieces next, and failed pieces again later.
func TestBacklog(t *testing.T) {
	t.Parallel()
	temporary, gone := &chat.SendError{Kind: chat.Temporary}, &chat.SendError{Kind: chat.Gone}
	for name, c := range map[string]struct {
		trouble  time.Duration // time during which Read of piece b fails
		patience time.Duration
		want     string
	}{
		"no trouble":        {0, time.Minute, "a b c1 c2 d-"},
		"trouble":           {30 * time.Second, time.Minute, "a c1 c2 d- b"},
		"trouble too long":  {time.Hour, time.Minute, "a c1 c2 d- b-"},
		"a moment's":        {3 * time.Second, time.Minute, "a b c1 c2 d-"},
		"without patience:": {time.Hour, 0, "a b- c1 c2 d-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var log bytes.Buffer
				var got []string
				piece := func(name string, read func() error, more ...Piece) Piece {
					return Piece{
						Read: func(context.Context) error { return read() },
						Done: func(_ context.Context, err error) ([]Piece, error) {
							if err != nil {
								name += "-"
							}
							got = append(got, name)
							return more, nil
						},
					}
				}
				works := func() error { return nil }
				pieces := []Piece{
					piece("a", works),
					piece("b", func() error {
						if time.Since(began) < c.trouble {
							return temporary
						}
						return nil
					}),
					piece("c1", works, piece("c2", works)),
					piece("d", func() error { return gone }),
				}
				err := ReadBacklog(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), c.patience, pieces)
				told := strings.Count(log.String(), "trying again")
				if s := strings.Join(got, " "); err != nil || s != c.want || told > 1 {
					t.Errorf("read %q, %v, and was told of trouble %d times, want %q", s, err, told, c.want)
				}
			})
		})
	}
	refused := errors.New("disk full")
	err := ReadBacklog(t.Context(), slog.New(slog.DiscardHandler), 0, []Piece{{
		Read: func(context.Context) error { return nil },
		Done: func(context.Context, error) ([]Piece, error) { return nil, refused },
	}})
	if !errors.Is(err, refused) {
		t.Errorf("ReadBacklog = %v, want %v", err, refused)
	}
}

// After Words has removed a mention from a text, no double space may remain in the text. At the beginning of a text,
// Words must also remove the comma or colon after the mention.
func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"@ hello": "hello", "@, hello": "hello", "@: hello": "hello", "hello @ there": "hello there", "hello @": "hello",
		"hello @, there": "hello , there", "hello\n@ there": "hello\n there", "@ @ hello": "hello", "a @ @ b": "a b", "@": "", "": "",
	} {
		var w Words
		for i, piece := range strings.Split(text, "@") {
			if i > 0 {
				w.Mention()
			}
			w.Add(piece)
		}
		if got := w.String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/help": "help: ", "/Model gpt ": "model: gpt", "/say a\nb": "say: a\nb", "/say\nb": "say: b", "/dry-run": "dry-run: ",
		"/": "", "/ help": "", "/etc/passwd": "", "/3 of 4": "", "//": "", "say /help": "", "/größe": "",
	} {
		got := ""
		if in := Command(chat.Inbound{Text: text}); in.Kind == chat.Command {
			got = in.Command + ": " + in.Args
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Probe must make a call every half minute until a call fails.
func TestProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked, works := time.Now(), 0, 0
		broken := errors.New("no route")
		err := Probe(t.Context(), func(context.Context) error {
			if asked++; asked == 3 {
				return broken
			}
			return nil
		}, func() { works++ })
		if took := time.Since(began); !errors.Is(err, broken) || asked != 3 || works != 2 || took != time.Minute {
			t.Errorf("got %v after %d probes in %v, %d of which worked", err, asked, took, works)
		}
	})
}
