package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"telex/internal/chat"
	"telex/platforms/conformance"
)

// filed returns a bot whose API answers getFile with result. The handler get serves every download.
func filed(t *testing.T, result string, get http.HandlerFunc) *Bot {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/base/bot"+testToken+"/getFile" && r.Method == http.MethodPost:
			if got, want := r.PostFormValue("file_id"), "F 1"; got != want {
				t.Errorf("asked for %q, want %q", got, want)
			}
			_, _ = io.WriteString(w, result)
		case strings.HasPrefix(r.URL.Path, "/base/file/bot"+testToken+"/") && r.Method == http.MethodGet:
			get(w, r)
		default:
			t.Errorf("called %s %s", r.Method, r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	b := newBot(t, Options{APIBase: server.URL + "/base/"})
	t.Cleanup(b.Close)
	return b
}

// at returns the API's response to getFile for a file with the given path and size.
func at(path string, size int) string {
	return fmt.Sprintf(`{"ok":true,"result":{"file_id":"F 1","file_unique_id":"u","file_path":%q,"file_size":%d}}`, path, size)
}

func voice(size int64) chat.Attachment {
	return chat.Attachment{Name: "voice.ogg", ID: "F 1", Size: size}
}

// never returns a handler that fails the test. Tests use the handler that never returns if the bot must not download
// anything.
func never(t *testing.T) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { t.Errorf("downloaded %s", r.URL.Path) }
}

func TestFetch(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("\x00\xffOgg"), 100)
	for _, path := range []string{"voice/file_1.oga", "odd names/a?b#c%d.txt", "x"} {
		b := filed(t, at(path, len(content)), func(w http.ResponseWriter, r *http.Request) {
			if got, want := r.URL.Path, "/base/file/bot"+testToken+"/"+path; got != want {
				t.Errorf("loaded %q, want %q", got, want)
			}
			_, _ = w.Write(content)
		})
		for _, limit := range []int64{int64(len(content)), 1 << 40} {
			got, err := b.Fetch(t.Context(), voice(0), limit)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("Fetch of %q within %d = %d bytes, %v, want the content", path, limit, len(got), err)
			}
		}
	}
}

// Fetch must fail if a file is larger than the limit, no matter what size the server announces. Fetch must not read an
// endless file to its end.
func TestFetchLimit(t *testing.T) {
	t.Parallel()
	large := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 101)) }
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		size   int64
		result string
		get    http.HandlerFunc
	}{
		"the message says so":         {101, "", never(t)},
		"getFile says so":             {0, at("a", 101), never(t)},
		"getFile refuses":             {0, refusal(400, "Bad Request: file is too big", ""), never(t)},
		"the download says so":        {0, at("a", 0), large},
		"nobody says so":              {0, at("a", 0), endless},
		"all say that it is smaller":  {3, at("a", 3), endless},
		"the download is a byte more": {100, at("a", 100), large},
	} {
		b := filed(t, c.result, c.get)
		got, err := b.Fetch(t.Context(), voice(c.size), 100)
		if !errors.Is(err, chat.ErrTooLarge) || got != nil {
			t.Errorf("%s: Fetch = %d bytes, %v, want %v", name, len(got), err, chat.ErrTooLarge)
		}
	}
}

func TestFetchFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "http://elsewhere.test/"+testToken)
			w.WriteHeader(code)
		}
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "50")
		_, _ = w.Write(make([]byte, 20))
		panic(http.ErrAbortHandler)
	}
	cutChunked := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 20))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	less := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 20)) }
	for _, c := range []struct {
		result string
		get    http.HandlerFunc
		want   chat.ErrorKind
		says   string
	}{
		{refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable", ""), never(t), chat.Gone, "file_id"},
		{refusal(400, "Bad Request: invalid file_id", ""), never(t), chat.Gone, "file_id"},
		{refusal(400, "Bad Request: wrong remote file identifier specified: can't unserialize it. Wrong last symbol", ""), never(t), chat.Gone, "remote"},
		{refusal(400, "Bad Request: FILE_REFERENCE_EXPIRED", ""), never(t), chat.Gone, "EXPIRED"},
		{refusal(401, "Unauthorized", ""), never(t), chat.Auth, "getFile"},
		{refusal(429, "Too Many Requests: retry after 3", `{"retry_after":3}`), never(t), chat.RateLimited, "getFile"},
		{refusal(500, "Internal Server Error", ""), never(t), chat.Temporary, "getFile"},
		{"<html>", never(t), chat.Temporary, "getFile"},
		{`{"ok":true,"result":{"file_id":"F 1"}}`, never(t), chat.Temporary, "names no file"},
		{`{"ok":true,"result":[]}`, never(t), chat.Temporary, "names no file"},
		{at("/var/lib/telegram-bot-api/1:a/voice/file_1.oga", 50), never(t), chat.Rejected, "--local"},
		{at(`C:\bots\1\voice\file_1.oga`, 50), never(t), chat.Rejected, "--local"},
		{at("../../other", 50), never(t), chat.Rejected, "invalid file path"},
		{at("a//b", 50), never(t), chat.Rejected, "invalid file path"},
		{at("a", 50), status(404), chat.Gone, "HTTP 404"},
		{at("a", 50), status(401), chat.Auth, "HTTP 401"},
		{at("a", 50), status(403), chat.Forbidden, "HTTP 403"},
		{at("a", 50), status(429), chat.RateLimited, "HTTP 429"},
		{at("a", 50), status(302), chat.Temporary, "HTTP 302"},
		{at("a", 50), status(307), chat.Temporary, "HTTP 307"},
		{at("a", 50), status(502), chat.Temporary, "HTTP 502"},
		{at("a", 50), status(206), chat.Temporary, "HTTP 206"},
		{at("a", 50), cut, chat.Temporary, "EOF"},
		{at("a", 0), cutChunked, chat.Temporary, "EOF"},
		{at("a", 50), less, chat.Temporary, "20 of 50"},
	} {
		got, err := filed(t, c.result, c.get).Fetch(t.Context(), voice(0), 100)
		failure := wantKind(t, err, c.want)
		if got != nil || !strings.Contains(failure.Error(), c.says) {
			t.Errorf("Fetch = %d bytes, %v, want %q in it", len(got), err, c.says)
		}
	}
	b := filed(t, "", never(t))
	_, err := b.Fetch(t.Context(), chat.Attachment{Name: "poll"}, 100)
	wantKind(t, err, chat.Gone)
}

// The URL of a file contains the bot's token, so no error may contain this URL.
func TestFetchFailsWithoutTheAddress(t *testing.T) {
	t.Parallel()
	b := newBot(t, Options{HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/getFile") {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(at("a", 5)))}, nil
		}
		return nil, fmt.Errorf("proxy: can't reach %s", r.URL)
	})})
	_, err := b.Fetch(t.Context(), voice(0), 100)
	wantKind(t, err, chat.Temporary)

	b = newBot(t, Options{HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/getFile") {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(at("a", 5)))}, nil
		}
		body := io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(fmt.Errorf("read %s: reset", r.URL)))
		return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(body)}, nil
	})})
	_, err = b.Fetch(t.Context(), voice(0), 100)
	wantKind(t, err, chat.Temporary)
}

// If a download hangs, Fetch must return when its context ends.
func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := filed(t, at("a", 50), func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 20))
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	_, err := b.Fetch(ctx, voice(0), 100)
	wantKind(t, err, chat.Temporary)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch = %v, want one that is %v", err, context.Canceled)
	}
	_, err = b.Fetch(ctx, voice(0), 100)
	wantKind(t, err, chat.Temporary)
}

func TestFetchIsCanceled(t *testing.T) {
	t.Parallel()
	conformance.GivenUp(t, func(ctx context.Context, through http.RoundTripper) ([]byte, error) {
		b := newBot(t, Options{HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/getFile") {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(at("a", 0)))}, nil
			}
			return through.RoundTrip(r)
		})})
		return b.Fetch(ctx, voice(0), 100)
	})
}

// Whatever path the server returns, the URL of the file must stay below the path of the bot's files.
func FuzzFileURL(f *testing.F) {
	for _, path := range []string{"voice/file_1.oga", "/etc/passwd", "../x", "a/../../b", `C:\x`, "a?b=c", "%2e%2e/x", "\x00", "//host/x"} {
		f.Add(path)
	}
	b := New(Options{Token: testToken, APIBase: "https://api.test/x"})
	f.Fuzz(func(t *testing.T, path string) {
		address, err := b.fileURL(path)
		if err != nil {
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatalf("%q gives an address that is none", path)
		}
		if got, want := req.URL.Path, "/x/file/bot"+testToken+"/"+path; got != want || req.URL.RawQuery != "" || req.URL.Host != "api.test" {
			t.Fatalf("%q leads to %q, want %q", path, req.URL, want)
		}
	})
}
