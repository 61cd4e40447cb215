package slack

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/markup"
	standin "telex/standin/slack"
)

func TestClassification(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		status int
		body   string
		want   chat.ErrorKind
	}{
		{methodUpdate, 200, `{"ok":false,"error":"message_not_found"}`, chat.Gone},
		{methodUpdate, 200, `{"ok":false,"error":"cant_update_message"}`, chat.Frozen},
		{methodUpdate, 200, `{"ok":false,"error":"edit_window_closed"}`, chat.Frozen},
		{methodDelete, 200, `{"ok":false,"error":"cant_delete_message"}`, chat.Frozen},
		{methodUpdate, 200, `{"ok":false,"error":"msg_too_long"}`, chat.TooLong},
		{methodPost, 200, `{"ok":false,"error":"msg_blocks_too_long"}`, chat.TooLong},
		{methodPost, 200, `{"ok":false,"error":"invalid_blocks","response_metadata":{"messages":["[ERROR] must be less than 12001 characters [json-pointer:/blocks/0]"]}}`, chat.TooLong},
		{methodPost, 200, `{"ok":false,"error":"invalid_blocks"}`, chat.Rejected},
		{methodPost, 200, `{"ok":false,"error":"no_text"}`, chat.Rejected},
		{methodPost, 200, `{"ok":false,"error":"something_new"}`, chat.Rejected},
		{methodUpdate, 200, `{"ok":false,"error":"streaming_state_conflict"}`, chat.Temporary},
		{methodAppend, 200, `{"ok":false,"error":"message_not_in_streaming_state"}`, chat.Rejected},
		{methodPost, 200, `{"ok":false,"error":"not_in_channel"}`, chat.Forbidden},
		{methodPost, 200, `{"ok":false,"error":"channel_not_found"}`, chat.Forbidden},
		{methodPost, 200, `{"ok":false,"error":"is_archived"}`, chat.Forbidden},
		{methodUpdate, 200, `{"ok":false,"error":"is_inactive"}`, chat.Forbidden},
		{methodPost, 200, `{"ok":false,"error":"restricted_action_thread_locked"}`, chat.Forbidden},
		{methodPost, 200, `{"ok":false,"error":"thread_not_found"}`, chat.Forbidden},
		{methodPost, 200, `{"ok":false,"error":"invalid_auth"}`, chat.Auth},
		{methodPost, 200, `{"ok":false,"error":"token_revoked"}`, chat.Auth},
		{methodPost, 200, `{"ok":false,"error":"account_inactive"}`, chat.Auth},
		{methodPost, 200, `{"ok":false,"error":"missing_scope","needed":"chat:write"}`, chat.Auth},
		{methodOpen, 200, `{"ok":false,"error":"missing_scope","needed":"connections:write"}`, chat.Auth},
		{methodReplies, 200, `{"ok":false,"error":"missing_scope","needed":"channels:history"}`, chat.Rejected},
		{methodUploadURL, 200, `{"ok":false,"error":"missing_scope","needed":"files:write"}`, chat.Rejected},
		{methodPost, 200, `{"ok":false,"error":"ratelimited"}`, chat.RateLimited},
		{methodPost, 200, `{"ok":false,"error":"rate_limited"}`, chat.RateLimited},
		{methodPost, 429, `{"ok":false,"error":"ratelimited"}`, chat.RateLimited},
		{methodPost, 429, ``, chat.RateLimited},
		{methodPost, 200, `{"ok":false,"error":"internal_error"}`, chat.Uncertain},
		{methodPost, 200, `{"ok":false,"error":"fatal_error"}`, chat.Uncertain},
		{methodPost, 500, `{"ok":false,"error":"internal_error"}`, chat.Uncertain},
		{methodPost, 502, `<html>`, chat.Uncertain},
		{methodPost, 200, `{"ok":tr`, chat.Uncertain},
		{methodPost, 200, `<html>`, chat.Uncertain},
		{methodPost, 200, ``, chat.Uncertain},
		{methodPost, 200, `{"ok":false}`, chat.Uncertain},
		{methodPost, 403, `<html>proxy</html>`, chat.Temporary},
		{methodPost, 404, `not here`, chat.Temporary},
		{methodPost, 302, ``, chat.Temporary},
		{methodPost, 413, `<html>`, chat.TooLong},
	} {
		b, done := answering(t, c.status, c.body)
		_, err := b.call(t.Context(), c.method, func(ctx context.Context, api *api) error {
			_, _, err := api.PostMessageContext(ctx, "C1")
			return err
		})
		failure := chat.AsSendError(err)
		if err == nil || failure.Kind != c.want {
			t.Errorf("%s, %d %s: %v, want %v", c.method, c.status, c.body, err, c.want)
		}
		if strings.Contains(c.body, "needed") && !strings.Contains(failure.Error(), "scope") {
			t.Errorf("%s does not say which scope is missing: %v", c.body, err)
		}
		wantScope := chat.Scope(0)
		if c.want == chat.RateLimited {
			wantScope = chat.ScopeChat
		}
		if failure.Scope != wantScope || c.want == chat.RateLimited && failure.RetryAfter != defaultRetryAfter {
			t.Errorf("%s: %+v", c.body, failure)
		}
		done()
	}
}

// Send must succeed even if the optional part of a response has an unexpected JSON form.
func TestOptionalPartsOfAResponse(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{`null`, `[]`, `""`, `{"messages":[{"text":"x"}]}`, `{"warnings":["missing_charset"]}`, `{"next_cursor":7}`} {
		b, done := answering(t, 200, `{"ok":true,"ts":"1700000000.000100","response_metadata":`+odd+`}`)
		r, err := b.Send(t.Context(), chat.Target{Chat: "C1"}, chat.Outgoing{Text: "x", Key: "k"})
		if err != nil || r.Ref.ID != "1700000000.000100" {
			t.Errorf("%s: %q, %v, want the message", odd, r.Ref.ID, err)
		}
		done()
	}
}

// verify checks the signature of a request with a header and a body.
func verify(t *testing.T, secret string, h http.Header, body string) error {
	b := &Bot{opts: Options{SigningSecret: secret}}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	req.Header = h
	check, err := b.checkSignature(req)
	if err != nil {
		return err
	}
	return check([]byte(body))
}

// The request and its signature are the example in https://docs.slack.dev/authentication/verifying-requests-from-slack.
func TestSignature(t *testing.T) {
	t.Parallel()
	const (
		secret = "8f742231b10e8888abcd99yyyzzz85a5"
		body   = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
		at     = 1531420618
		sign   = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
	)
	header := func(stamp, signature string) http.Header {
		return http.Header{"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {signature}}
	}
	stamp, now := strconv.Itoa(at), time.Unix(at, 0)
	for name, c := range map[string]struct {
		h    http.Header
		body string
		now  time.Time
		ok   bool
	}{
		"the example":        {header(stamp, sign), body, now, true},
		"five minutes later": {header(stamp, sign), body, now.Add(5 * time.Minute), true},
		"too late":           {header(stamp, sign), body, now.Add(5*time.Minute + time.Second), false},
		"too early":          {header(stamp, sign), body, now.Add(-5*time.Minute - time.Second), false},
		"another body":       {header(stamp, sign), body + "&", now, false},
		"another time":       {header(strconv.Itoa(at+1), sign), body, now, false},
		"another signature":  {header(stamp, sign[:len(sign)-1]+"4"), body, now, false},
		"no signature":       {header(stamp, ""), body, now, false},
		"no time":            {header("", sign), body, now, false},
		"nothing":            {http.Header{}, body, now, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(c.now))
			if err := verify(t, secret, c.h, c.body); (err == nil) != c.ok {
				t.Errorf("%s: %v, want ok %t", name, err, c.ok)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		if err := verify(t, "another", header(stamp, sign), body); err == nil {
			t.Error("another secret is taken")
		}
	})
}

func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(t, "us"))
		ts := tsOf(at)
		if !isTS(ts) || !timeOf(ts).Equal(at) {
			t.Fatalf("%v is %q is %v", at, ts, timeOf(ts))
		}
		if next := tsOf(at.Add(time.Microsecond)); !isLater(next, ts) || isLater(ts, next) || isLater(ts, ts) || !isLater(ts, "x") {
			t.Fatalf("%q and %q are not in order", ts, next)
		}
		key := rapid.String().Draw(t, "key")
		if got, hashed, ok := splitMessageID(streamID(ts, key)); got != ts || hashed != hash(key) || !ok {
			t.Fatalf("%q, %q, %t", got, hashed, ok)
		}
		if user := asker(questionID(ts, "U1")); user != "U1" {
			t.Fatalf("asked by %q", user)
		}
		_, _, _ = splitMessageID(chat.MessageID(rapid.String().Draw(t, "id")))
	})
	for _, id := range []chat.MessageID{"", "x", "1.5", "1700000000.0000001", ".000001", "F123", "/x", "-1.000000"} {
		if ts, _, ok := splitMessageID(id); ok {
			t.Errorf("%q names the message %q", id, ts)
		}
	}
	for id, want := range map[chat.MessageID]bool{"F123": true, "F0A": true, "F": false, "F1.2": false, "1.000000": false, "": false} {
		if isFile(id) != want {
			t.Errorf("%q names a file: %t", id, !want)
		}
	}
}

// The notification text of a message must be within Slack's limit, and must not be cut inside a character or an entity
// such as &amp;.
func TestFallback(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SampledFrom([]rune{'a', '<', '>', '&', '🦊', 'ü'})
		plain := string(rapid.SliceOfN(runes, 0, 5000).Draw(t, "plain"))
		got := fallbackText(chat.Outgoing{Plain: plain})
		if markup.Units(got) > textLimit || strings.ContainsAny(got, "<>") {
			t.Fatalf("%d units: %.100q", markup.Units(got), got)
		}
		read := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(got)
		if !strings.HasPrefix(plain, read) || markup.Units(plain) < textLimit/5 && read != plain {
			t.Fatalf("%.100q became %.100q", plain, got)
		}
	})
	if got := escapeControls("<!channel> <@U1> <#C1|x> a < b <https://x>"); strings.ContainsAny(got, "!") && strings.Contains(got, "<!") || strings.Contains(got, "<@") || strings.Contains(got, "<#") {
		t.Errorf("still calls somebody: %q", got)
	}
}

// disableLinks must put everything that Slack would turn into a link into code, because Slack makes no links in code.
func TestWithoutLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The rest, in a file.":              "The rest, in a file.",
		"see https://a.example/b?c=`d` now": "see `https://a.example/b?c=%60d%60` now",
		"(secret.a.example) tel:/1 1.2 e.g": "(`secret.a.example)` `tel:/1` 1.2 e.g",
		"&lt;https://a.example&gt;":         "&lt;`https://a.example&gt;`",
	} {
		if got := disableLinks(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// In any minute, pace must not allow more calls than its limit.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var times []time.Time
		for range 100 {
			if err := p.wait(t.Context(), func() int { return 26 }); err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Now())
			if n := len(times); n > 26 && times[n-1].Sub(times[n-27]) <= time.Minute {
				t.Fatalf("27 calls within %v", times[n-1].Sub(times[n-27]))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for p.wait(ctx, func() int { return 1 }) == nil {
		}
	})
}

// In this test, Slack delivers several messages of one chat at the same time. The bot must handle the messages of one
// chat in the order in which people wrote them. A delivery must not wait for deliveries in other chats, and no delivery
// may wait forever.
func TestArrivalOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l arrivalOrder
		var mu sync.Mutex
		var passed []string
		var work sync.WaitGroup
		deliver := func(ctx context.Context, in chat.ChatID, ts string, after, takes time.Duration) {
			work.Go(func() {
				time.Sleep(after)
				leave := l.enter(ctx, in, ts)
				defer leave()
				mu.Lock()
				passed = append(passed, string(in)+ts)
				mu.Unlock()
				time.Sleep(takes)
			})
		}
		deliver(t.Context(), "C", "1.000003", 0, 0)
		deliver(t.Context(), "C", "1.000001", 10*time.Millisecond, time.Second)
		deliver(t.Context(), "C", "1.000002", 20*time.Millisecond, 0)
		deliver(t.Context(), "D", "1.000009", 0, 0)
		deliver(t.Context(), "D", "1.000000", time.Second, 0)
		late, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		deliver(late, "C", "1.000004", 0, 0) // late ends while the delivery of message 1.000001 is still being accepted
		work.Wait()
		want := []string{"D1.000009", "C1.000001", "C1.000004", "C1.000002", "C1.000003", "D1.000000"}
		// Deliveries that have waited for the same older delivery may continue in any order.
		if slices.Sort(passed[3:]); len(l.waiting) != 0 || !slices.Equal(passed[:2], want[:2]) && !slices.Equal(passed[:2], []string{want[1], want[0]}) ||
			passed[2] != want[2] {
			t.Errorf("passed in the order %v, want %v; %d wait", passed, want, len(l.waiting))
		}
	})
}

// When the bot inserts a part of a key's hash into a file name, the extension of the file name must not change. isFile
// must recognize a file name with the hash of the given key, but not a file name with the hash of another key.
func TestFileMarks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"answer.md": "answer-8fa3aab2faa9.md", "file": "file-8fa3aab2faa9", ".x": ".x-8fa3aab2faa9"} {
		got := nameWithMark(name, hash("a key"))
		ours := message{Files: []file{{Name: "other.md"}, {Name: got}}}
		if got != want || !ours.isFile(hash("a key")) || ours.isFile(hash("another key")) {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

// The bot may send its token only to Slack's own URLs.
func TestFetchable(t *testing.T) {
	t.Parallel()
	b := New(Options{BotToken: "xoxb-1", AppToken: "xapp-1", APIBase: "http://localhost:8080/api/"})
	defer b.Close()
	for address, want := range map[string]bool{
		"https://files.slack.com/files-pri/T1-F1/a.txt": true, "https://acme.slack.com/x": true, "http://localhost:8080/files-pri/x": true,
		"http://files.slack.com/x": false, "https://files.slack.com.evil.example/x": false, "https://evilslack.com/x": false,
		"https://x:y@files.slack.com/x": false, "http://localhost:8081/x": false, "https://drive.google.com/x": false, "": false, "%": false,
	} {
		if b.mayFetch(address) != want {
			t.Errorf("%q may see the token: %t", address, !want)
		}
	}
}

// The bot must request the name of a person once, and again when the name is outdated. If the second request fails, the
// bot must use the outdated name.
func TestPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		b := New(Options{BotToken: "xoxb-secret", AppToken: "xapp-secret", HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			asked++
			body := `{"ok":false,"error":"internal_error"}`
			if asked == 1 {
				body = `{"ok":true,"user":{"name":"a","real_name":"Ann B.","profile":{"display_name":"ann"}}}`
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})})
		defer b.Close()
		want := func(calls int) {
			t.Helper()
			name, done := b.namesOf(t.Context(), time.Now().Add(namesTimeout))
			defer done()
			if got := name("U1"); got != "ann" || asked != calls {
				t.Errorf("%q after %d calls, want ann after %d", got, asked, calls)
			}
		}
		want(1)
		time.Sleep(nameLifetime - time.Second)
		want(1)
		time.Sleep(2 * time.Second)
		want(2) // the second request for the name fails
		time.Sleep(failedLookupLifetime - time.Second)
		want(2)
		time.Sleep(2 * time.Second)
		want(3)
	})
}

// D3: the limits must be so low that a process and its successor together keep to Slack's limits per minute; see
// chat.Limit.
func TestLimitsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	b := New(Options{BotToken: "xoxb-1", AppToken: "xapp-1", APIBase: "http://localhost:8080/api/"})
	p := standin.PublishedLimits()
	published := map[chat.Op]int{
		chat.OpSend: p.PostPerMinute, chat.OpFile: p.Tier4, chat.OpEdit: p.Tier3, chat.OpDelete: p.Tier3, chat.OpStart: p.Tier2, chat.OpAppend: p.Tier4,
		chat.OpStop: p.Tier2, chat.OpFind: findCount, chat.OpPane: p.Tier4, chat.OpTyping: p.StatusPerMinute,
	}
	for _, l := range b.Profile(chat.Target{}).Limits {
		if l.Scope != chat.ScopeEndpoint {
			continue
		}
		if l.Window != time.Minute || l.Count+l.Burst-1 > published[l.Ops] {
			t.Errorf("%v: %d calls in %v, want at most %d in a minute", l.Ops, l.Count+l.Burst-1, l.Window, published[l.Ops])
		}
		delete(published, l.Ops)
	}
	if len(published) > 0 {
		t.Errorf("no limit for %v", published)
	}
}
