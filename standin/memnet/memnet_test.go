package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"telex/standin/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns both ends of a connection, which is closed when the test ends.
func connect(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l := memnet.Listen()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Errorf("Accept: %v", err)
		}
		accepted <- c
	}()
	client, err := l.Dial(t.Context(), "tcp", "anywhere:80")
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() {
		for _, c := range []io.Closer{client, server, l} {
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	})
	return client, server
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	client, server := connect(t)
	want := bytes.Repeat([]byte("0123456789"), memnet.BufferSize/4) // more than fits in the buffer
	sent := make(chan error, 1)
	go func() {
		_, err := client.Write(want)
		sent <- errors.Join(err, client.Close())
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("ReadAll: got %d bytes (%v), want %d", len(got), err, len(want))
	}
	if err := <-sent; err != nil {
		t.Errorf("Write: %v", err)
	}
	if _, err := server.Write([]byte("x")); err == nil {
		t.Error("write to a closed peer: got no error")
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read from a closed connection: got %v, want %v", err, net.ErrClosed)
	}
	if client.LocalAddr().String() != server.RemoteAddr().String() || client.RemoteAddr().String() != server.LocalAddr().String() {
		t.Errorf("addresses: got %v to %v and %v to %v, want mirrored", client.LocalAddr(), client.RemoteAddr(), server.LocalAddr(), server.RemoteAddr())
	}
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		began := time.Now()
		if err := client.SetReadDeadline(began.Add(3 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := client.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("read: got %v after %v, want a timeout after 3s", err, time.Since(began))
		}
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("read: got %v, want a net.Error that is a timeout", err)
		}
		if err := client.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(make([]byte, memnet.BufferSize+1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write to a full buffer: got %v, want a timeout", err)
		}
		// Set a deadline in the past while a read is blocked. The read must then end with a timeout. http.Server relies on
		// this.
		done := make(chan error, 1)
		go func() {
			b := make([]byte, 1)
			for {
				if _, err := server.Read(b); err != nil {
					done <- err
					return
				}
			}
		}()
		synctest.Wait()
		if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("aborted read: got %v, want a timeout", err)
		}
	})
}

func TestListenerClose(t *testing.T) {
	t.Parallel()
	l := memnet.Listen()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Dial(ctx, "tcp", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with an ended context: got %v, want %v", err, context.Canceled)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: got %v, want %v", err, net.ErrClosed)
	}
	if _, err := l.Dial(t.Context(), "tcp", "x"); !errors.Is(err, memnet.ErrRefused) {
		t.Errorf("Dial: got %v, want %v", err, memnet.ErrRefused)
	}
}

// The test checks that a server notices when a client disconnects, and that a client notices when a server cuts the
// connection.
func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan time.Time, 1)
		mux := http.NewServeMux()
		mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			gone <- time.Now()
		})
		mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		l := memnet.Listen()
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		transport := &http.Transport{DialContext: l.Dial}
		client := &http.Client{Transport: transport}
		get := func(ctx context.Context, path string) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err == nil {
				err = res.Body.Close()
			}
			return err
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if err := get(ctx, "/wait"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: got %v, want %v", err, context.DeadlineExceeded)
		}
		if got := (<-gone).Sub(began); got != 7*time.Second {
			t.Errorf("the server noticed after %v, want 7s", got)
		}
		if err := get(t.Context(), "/cut"); !errors.Is(err, io.EOF) {
			t.Errorf("cut: got %v, want %v", err, io.EOF)
		}
		transport.CloseIdleConnections()
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: got %v, want %v", err, http.ErrServerClosed)
		}
	})
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	if c, err := memnet.Refuse(t.Context(), "tcp", "nobody:1"); c != nil || !errors.Is(err, memnet.ErrRefused) {
		t.Errorf("got %v, %v", c, err)
	}
}
