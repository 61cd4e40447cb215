package memnet

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// TB is what Serve and Transport need of a test.
type TB interface {
	Helper()
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// Server is a stand-in, or an http.Server.
type Server interface {
	Serve(l net.Listener) error
	Close() error
}

// Serve lets a server serve a new listener until the test ends, which then closes it and waits until it is gone.
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

// Transport returns a transport that dials the listener, whatever the address, and holds no connection once the test
// has ended.
func (l *Listener) Transport(t TB) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: l.Dial}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Refuse is a dial to an address where nobody listens.
func Refuse(ctx context.Context, network, address string) (net.Conn, error) {
	l := Listen()
	_ = l.Close() // never fails
	return l.Dial(ctx, network, address)
}
