package memnet

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// TB is the part of testing.TB that Serve and Transport use.
type TB interface {
	Helper()
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// Server is implemented by stand-ins and by http.Server.
type Server interface {
	Serve(l net.Listener) error
	Close() error
}

// Serve lets a server serve a new listener. At the end of the test, Serve closes the server, and waits until the
// server's own method Serve has returned.
func Serve(t TB, s Server) *Listener {
	t.Helper()
	l := Listen()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		if err := <-served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return l
}

// Transport returns a transport that dials the listener for every address. At the end of the test, Transport closes the
// transport's idle connections.
func (l *Listener) Transport(t TB) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: l.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Refuse always fails, like a dial to an address on which no program listens.
func Refuse(ctx context.Context, network, address string) (net.Conn, error) {
	l := Listen()
	_ = l.Close() // never fails
	return l.Dial(ctx, network, address)
}
