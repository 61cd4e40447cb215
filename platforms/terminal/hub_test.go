package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

var (
	_ gateway.Platform  = (*Hub)(nil)
	_ gateway.Concluder = (*Hub)(nil)
	_ preview.Editor    = (*Hub)(nil)
	_ preview.Deleter   = (*Hub)(nil)
	_ preview.Typer     = (*Hub)(nil)
)

var errDisk = errors.New("secret detail of the disk")

// scene is a running hub. A scene records the messages that the hub accepts and the results of Serve.
type scene struct {
	t       *testing.T
	hub     *Hub
	ctx     context.Context //nolint:containedctx // the lifetime of the scene
	end     context.CancelFunc
	heard   chan chat.Inbound
	broken  bool // the accept function returns an error
	serving sync.WaitGroup
	served  chan error
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, heard: make(chan chat.Inbound, 100), served: make(chan error, 10)}
	s.hub = NewHub(HubOptions{
		Cursor: " ▌", Log: slog.New(slog.DiscardHandler),
		History: func(_ context.Context, session string) ([]Line, error) { return []Line{{Text: "of " + session}}, nil },
	})
	s.ctx, s.end = context.WithCancel(context.Background())
	s.serving.Go(func() {
		_ = s.hub.Run(s.ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
			if s.broken {
				return errDisk
			}
			s.heard <- in
			return nil
		})
	})
	t.Cleanup(func() { s.end(); s.serving.Wait() })
	return s
}

// dial connects a client to the hub and returns the client's side of the connection.
func (s *scene) dial() net.Conn {
	ours, theirs := net.Pipe()
	s.serving.Go(func() { s.served <- s.hub.Serve(s.ctx, theirs) })
	return ours
}

func (s *scene) attach(session string) *Client {
	s.t.Helper()
	c, w, err := Attach(s.dial(), Hello{Session: session})
	if err != nil {
		s.t.Fatal(err)
	}
	if want := "of " + session; len(w.History) != 1 || w.History[0].Text != want {
		s.t.Errorf("history = %+v, want %q", w.History, want)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *scene) next(c *Client) Frame {
	s.t.Helper()
	f, err := c.Next()
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *scene) send(to chat.Target, m chat.Outgoing) chat.MessageRef {
	s.t.Helper()
	r, err := s.hub.Send(s.t.Context(), to, m)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Ref
}

func TestConversation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	to := chat.Target{Chat: "main"}
	if err := c.Say("7", " /New one two "); err != nil {
		t.Fatal(err)
	}
	in := <-s.heard
	if in.To != to || in.Kind != chat.Command || in.Command != "new" || in.Args != "one two" || in.ID == "" || !in.Addressed || in.Sender.ID != operator || in.Unattended {
		t.Errorf("heard %+v", in)
	}
	if in.Origin != chat.Typed {
		t.Errorf("what was typed is of the origin %q", in.Origin)
	}
	ref := s.send(to, chat.Outgoing{Text: "a ▌", Source: "*a*", ReplyTo: in.ID, Preview: true})
	if m := s.next(c).Message; m == nil || *m != (Message{ID: string(ref.ID), Answer: "7", Text: "a", Source: "*a*", Cursor: " ▌", Live: true}) {
		t.Errorf("preview is %+v", m)
	}
	if _, err := s.hub.Edit(t.Context(), ref, chat.Outgoing{Text: "a b ▌", Note: "n"}); err != nil {
		t.Fatal(err)
	}
	if m := s.next(c).Message; m == nil || *m != (Message{ID: string(ref.ID), Text: "a b ▌", Note: "n"}) {
		t.Errorf("final is %+v", m) // the message is final, so the cursor character is a part of the model's text
	}
	if err := s.hub.Typing(t.Context(), to); err != nil || s.next(c).Typing == nil {
		t.Errorf("typing is not shown: %v", err)
	}
	if err := s.hub.Delete(t.Context(), ref); err != nil || s.next(c).Deleted == nil {
		t.Errorf("deletion is not shown: %v", err)
	}
	s.hub.Concluded(to, []chat.MessageID{"unknown", in.ID, in.ID}, true)
	if d := s.next(c).Done; d == nil || *d != (Done{Input: "7", Failed: true}) {
		t.Errorf("done is %+v", d)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if stop := <-s.heard; stop.Kind != chat.Command || stop.Command != "stop" {
		t.Errorf("heard %+v, want a stop", stop)
	}
}

// Some texts look like a command but are not commands. If a text only looks like a command, the hub must pass on the
// text unchanged.
func TestCommands(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	for _, tt := range []struct{ text, command, args string }{
		{"/new", "new", ""}, {"/model\n two", "model", "two"}, {"/etc/passwd", "", ""}, {"/ new", "", ""}, {"say /new", "", ""}, {"//x", "", ""},
	} {
		if err := c.Say("1", tt.text); err != nil {
			t.Fatal(err)
		}
		in := <-s.heard
		if in.Command != tt.command || in.Args != tt.args || in.Text != tt.text || (in.Kind == chat.Command) != (tt.command != "") {
			t.Errorf("%q is %+v", tt.text, in)
		}
	}
}

func TestInputThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		broken     bool
		want       string
	}{
		{"too long", strings.Repeat("x", MaxInput+1), false, "longer than"},
		{"empty", " \n", false, "it is empty"},
		{"not stored", "hi", true, "could not be stored."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.broken = tt.broken
			c := s.attach("main")
			if err := c.Say("1", tt.text); err != nil {
				t.Fatal(err)
			}
			if m := s.next(c).Message; m == nil || !strings.Contains(m.Note, tt.want) || m.Answer != "1" || strings.Contains(m.Text, "secret") {
				t.Errorf("told %+v", m)
			}
			if d := s.next(c).Done; d == nil || !d.Failed {
				t.Errorf("done is %+v", d)
			}
		})
	}
}

func TestClientsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	first := s.attach("main")
	for _, tt := range []struct{ name, frame, want string }{
		{"another one is there", `{"hello":{"version":1,"session":"main"}}`, "open in another terminal"},
		{"another version", `{"hello":{"version":2,"session":"x"}}`, "restart the daemon"},
		{"bad session", `{"hello":{"version":1,"session":"a b"}}`, "not a session name"},
		{"no hello", `{"stop":{}}`, "must be a hello"},
	} {
		conn := s.dial()
		if _, err := fmt.Fprintln(conn, tt.frame); err != nil {
			t.Fatal(err)
		}
		f, err := newReader(conn).next()
		if err != nil || f.Refused == nil || !strings.Contains(f.Refused.Reason, tt.want) {
			t.Errorf("%s: %+v, %v", tt.name, f, err)
		}
		if err := <-s.served; err != nil {
			t.Errorf("%s: Serve = %v", tt.name, err)
		}
	}
	conn := s.dial()
	if _, err := fmt.Fprintln(conn, "{}"); err != nil {
		t.Fatal(err)
	}
	if err := <-s.served; !errors.Is(err, errFrame) {
		t.Errorf("Serve = %v, want %v", err, errFrame)
	}
	// After a client has disconnected, another client must be able to attach to the session.
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	s.attach("main")
}

// If no client is attached to a session, every call for the session must succeed, even an edit of a message that an
// earlier process sent.
func TestNobodyAttached(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hub.endWait() // do not wait for clients to reconnect
	to := chat.Target{Chat: "main"}
	a, b := s.send(to, chat.Outgoing{Text: "a"}), s.send(to, chat.Outgoing{Text: "b"})
	if a.ID == "" || a == b {
		t.Errorf("ids %q and %q", a.ID, b.ID)
	}
	old := chat.MessageRef{Target: to, ID: "earlier.1"}
	if _, err := s.hub.Edit(t.Context(), old, chat.Outgoing{Text: "c"}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.hub.Delete(t.Context(), old), s.hub.Typing(t.Context(), to)); err != nil {
		t.Error(err)
	}
	s.hub.Concluded(to, []chat.MessageID{"1"}, false)
	next := newScene(t)
	next.hub.endWait()
	if other := next.send(to, chat.Outgoing{Text: "a"}); other.ID == a.ID || other.ID == b.ID {
		t.Error("two processes give the same ids")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.hub.endWait() // do not wait for clients to reconnect
	to := chat.Target{Chat: "main"}
	s.send(to, chat.Outgoing{Text: strings.Repeat("世", textLimit/2)})
	for _, text := range []string{strings.Repeat("x", textLimit+1), strings.Repeat("世", textLimit/2+1)} {
		_, err := s.hub.Send(t.Context(), to, chat.Outgoing{Text: text})
		if e := chat.AsSendError(err); e.Kind != chat.TooLong {
			t.Errorf("a text of %d bytes: %v, want too long", len(text), err)
		}
	}
	s.attach("main")
	_, err := s.hub.Send(t.Context(), to, chat.Outgoing{Text: "a" + strings.Repeat("\u0301", maxFrame)}) // one cell, but too many bytes
	if e := chat.AsSendError(err); e.Kind != chat.TooLong {
		t.Errorf("a text that no frame holds: %v, want too long", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.hub.Send(ctx, to, chat.Outgoing{Text: "a"}); chat.AsSendError(err).Kind != chat.Temporary {
		t.Errorf("Send after the end = %v", err)
	}
}

// A slow terminal must get only the newest state of each message. If a terminal reads nothing at all, the hub must
// disconnect the terminal. No call of the gateway may wait for a terminal.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for i := range 10_000 {
		o.put(Frame{Message: &Message{ID: "a", Answer: strings.Repeat("1", max(0, 1-i)), Text: fmt.Sprint(i)}})
		o.put(Frame{Message: &Message{ID: "b", Text: fmt.Sprint(i)}})
		o.put(Frame{Typing: &Typing{}})
	}
	o.put(Frame{Done: &Done{Input: "1"}})
	o.end(errDetached)
	for _, want := range []string{"a", "b"} {
		if f, err := o.take(); err != nil || f.Message == nil || f.Message.ID != want || f.Message.Text != "9999" || want == "a" && f.Message.Answer != "1" {
			t.Errorf("took %+v, %v", f.Message, err)
		}
	}
	if f, err := o.take(); err != nil || f.Done == nil {
		t.Errorf("took %+v, %v, want the end", f, err)
	}
	if _, err := o.take(); !errors.Is(err, errDetached) {
		t.Errorf("took %v, want %v", err, errDetached)
	}
	full := newOutbox()
	for i := range 2 * maxWaiting {
		full.put(Frame{Message: &Message{ID: fmt.Sprint(i)}})
	}
	if _, err := full.take(); !errors.Is(err, errSlow) || len(full.waiting) > 0 {
		t.Errorf("took %v, want %v", err, errSlow)
	}
}

// After a restart, the gateway's calls for a session must wait until the session's client reconnects. The client must
// get messages with the same ids as before the restart. If a client repeats an input, the hub must pass on the input
// with the same message id, by which the gateway recognizes the repetition. If no client reconnects, the gateway's
// calls may wait only for a short time.
func TestClientComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		synctest.Wait() // wait until Run has begun
		to, other := chat.Target{Chat: "main"}, chat.Target{Chat: "other"}
		began := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() { s.send(to, chat.Outgoing{Key: "turn.0", Text: "\x1b[1mwhole\x1b[0m"}) })
		calls.Go(func() {
			s.send(other, chat.Outgoing{Key: "turn.1", Text: "nobody looks"})
			if d := time.Since(began); d != returnsIn {
				t.Errorf("nobody was waited for for %v, want %v", d, returnsIn)
			}
		})
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.hub.Edit(ctx, chat.MessageRef{Target: other, ID: "turn.1"}, chat.Outgoing{Text: "late"})
			if e := chat.AsSendError(err); e.Kind != chat.Temporary {
				t.Errorf("a call that did not wait long enough: %v, want it to be made again", err)
			}
		})
		time.Sleep(2 * time.Second)
		c, w, err := Attach(s.dial(), Hello{Session: "main", Client: "me"})
		if err != nil || !w.Once {
			t.Fatalf("welcomed with %+v, %v", w, err)
		}
		if m := s.next(c).Message; m == nil || *m != (Message{ID: "turn.0", Text: "whole"}) {
			t.Errorf("told %+v, want the answer, without what this client can't show", m)
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("it was told after %v", d)
		}
		var ids []chat.MessageID
		for range 2 {
			if err := c.Say("7", "hi"); err != nil {
				t.Fatal(err)
			}
			in := <-s.heard
			ids = append(ids, in.ID)
			s.hub.Concluded(to, []chat.MessageID{in.ID}, false)
			if d := s.next(c).Done; d == nil || d.Input != "7" {
				t.Errorf("done is %+v", d)
			}
		}
		if ids[0] != "me.7" || ids[1] != ids[0] {
			t.Errorf("heard the inputs %q, want the same one twice", ids)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-s.served; err != nil {
			t.Error(err)
		}
		s.send(to, chat.Outgoing{Text: "who was there once is not waited for"})
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("it waited until %v", d)
		}
		calls.Wait()
	})
}

// If messages arrive while the hub prepares the frame Welcome, the client must get these messages after the frame
// Welcome.
func TestWelcomeComesFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	o := *s.hub.options.Load()
	o.History = func(context.Context, string) ([]Line, error) {
		s.send(chat.Target{Chat: "main"}, chat.Outgoing{Text: "meanwhile"})
		return []Line{{Text: "of main"}}, nil
	}
	s.hub.Reload(o)
	c := s.attach("main")
	if f := s.next(c); f.Message == nil || f.Message.Text != "meanwhile" {
		t.Errorf("told %+v, want what was shown meanwhile", f)
	}
}

// When the hub ends, the client must first get all frames that were waiting, and then the frame Closed.
func TestHubEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	s.send(chat.Target{Chat: "main"}, chat.Outgoing{Text: "last"})
	s.end()
	if f := s.next(c); f.Message == nil || f.Message.Text != "last" {
		t.Errorf("told %+v, want the last message", f)
	}
	if _, err := c.Next(); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("told %v", err)
	}
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// If a client says that it read the text from a pipe, the hub must not mark the text as typed by a person.
func TestAPipeIsNotTyped(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	c := s.attach("main")
	if err := c.Ask(Input{ID: "7", Text: "a page", Piped: true}); err != nil {
		t.Fatal(err)
	}
	if in := <-s.heard; in.Origin != chat.Piped || !in.Unattended || in.Text != "a page" {
		t.Errorf("heard %+v", in)
	}
}
