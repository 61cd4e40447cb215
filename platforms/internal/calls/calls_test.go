package calls

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100)
	for name, want := range map[string]string{
		"answer.md":              "answer.md",
		"größe 🦊 1.tar.gz":       "größe 🦊 1.tar.gz",
		"../../etc/passwd":       "passwd",
		`C:\temp\a.txt`:          "a.txt",
		"a\r\nX-Evil: 1.md":      "a__X-Evil_ 1.md",
		`q"uo'te.md`:             "q_uo_te.md",
		"cod\u202egpj.exe":       "cod_gpj.exe",
		"":                       "file",
		"..":                     "file",
		"/":                      "file",
		" .md ":                  "md",
		"\xff.md":                "_.md",
		long + ".md":             strings.Repeat("é", 57) + ".md",
		long:                     strings.Repeat("é", 60),
		"a." + long:              "a." + strings.Repeat("é", 58),
		"x.averyveryverylongone": "x.averyveryverylongone",
		long[:118] + " b":        strings.Repeat("é", 59),
	} {
		if got := FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
}

// For any input, FileName must return a valid name. If FileName gets a name that it has returned, it must not change
// the name.
func TestFileNameProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("./\\ a\"\r\n\u202e\x00é")), 0, 90, -1)).Draw(t, "name")
		got := FileName(name)
		if got == "" || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\"\r\n\x00") || utf8.RuneCountInString(got) > maxFileName {
			t.Fatalf("FileName(%q) = %q", name, got)
		}
		if again := FileName(got); again != got {
			t.Fatalf("FileName(%q) = %q, and of that %q", name, got, again)
		}
	})
}

func TestMediaTypeStaysInItsHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"text/markdown; charset=utf-8": "text/markdown; charset=utf-8",
		"":                             "application/octet-stream",
		"a/b\r\nX-Evil: 1":             "application/octet-stream",
		"no type":                      "application/octet-stream",
	} {
		if got := mediaType(in); got != want {
			t.Errorf("mediaType(%q) = %q, want %q", in, got, want)
		}
	}
}

// RetryAfter must prefer the wait in the body to the wait in the header, and ignore invalid values.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const standard = 30 * time.Second
	for _, c := range []struct {
		seconds float64
		header  string
		want    time.Duration
	}{
		{0, "1", time.Second},
		{0, " 30 ", 30 * time.Second},
		{0, "", standard},
		{0, "0", standard},
		{0, "-1", standard},
		{0, "NaN", standard},
		{0, "soon", standard},
		{0, "Wed, 21 Oct 2026 07:28:00 GMT", standard},
		{0, "99999999999", standard},
		{1.2345, "7", 1235 * time.Millisecond},
		{-3, "7", 7 * time.Second},
		{1e300, "", standard},
	} {
		if got := RetryAfter(c.seconds, http.Header{"Retry-After": {c.header}}, standard); got != c.want {
			t.Errorf("%v in the body and %q in the header are %v, want %v", c.seconds, c.header, got, c.want)
		}
	}
}

// In this test, an error contains a secret, either unchanged, escaped or in a URL. No error in the chain that Error
// returns may contain the secret, but errors.Is must still find the cause.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "1:a secret/b"
	s := Secrets{"another"}.With("").With(secret)
	for name, err := range map[string]error{
		"plain":   fmt.Errorf("call %s: %w", secret, io.EOF),
		"escaped": fmt.Errorf("call %s, %s: %w", url.QueryEscape(secret), url.PathEscape(secret), io.EOF),
		"address": &url.Error{Op: "Get", URL: "https://host/" + secret, Err: io.EOF},
		"nested":  fmt.Errorf("a: %w", &url.Error{Op: "Get", URL: "/", Err: fmt.Errorf("%s: %w", secret, io.EOF)}),
	} {
		got := s.Error("getMe", err)
		if !strings.HasPrefix(got.Error(), "getMe: ") || !errors.Is(got, io.EOF) {
			t.Errorf("%s: %v, want the operation, and io.EOF as its cause", name, got)
		}
		for e := got; e != nil; e = errors.Unwrap(e) {
			if text := fmt.Sprintf("%v %+v %q", e, e, e); strings.Contains(text, "secret") {
				t.Errorf("%s: the error shows the secret: %s", name, text)
			}
		}
	}
	refused := s.RefusedError("getMe", Outcome{Status: http.StatusTeapot}, "no_tea", strings.Repeat("ä", 1000)+secret)
	if Status(refused) != http.StatusTeapot || Code(refused) != "no_tea" || len(refused.Error()) > 400 || !utf8.ValidString(refused.Error()) {
		t.Errorf("Refused = %v", refused)
	}
}

// roundTripper is an http.RoundTripper that answers each request without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each response with a valid header Date must set the clock. A response without a valid header Date must not change the
// clock.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var date string
		client := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
		})}
		clock, local := NewClock(client), time.Now()
		for _, tt := range []struct {
			date string
			want time.Duration
		}{
			{"", 0},
			{local.Add(-time.Hour).UTC().Format(http.TimeFormat), -time.Hour},
			{"yesterday", -time.Hour},
			{local.Add(time.Minute).UTC().Format(http.TimeFormat), time.Minute},
		} {
			date = tt.date
			resp, err := client.Get("http://telex.test")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if got := clock.At(local).Sub(local); (got - tt.want).Abs() > time.Second {
				t.Errorf("after the time %q, the platform is %v ahead, want %v", tt.date, got, tt.want)
			}
		}
	})
}
