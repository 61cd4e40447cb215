package memnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrRefused is the error of a dial to a closed listener.
var ErrRefused = errors.New("connection refused")

// Listener accepts the connections that Dial opens. A Listener implements net.Listener. All methods may be called from
// any goroutine.
type Listener struct {
	queue  chan *conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen opens a listener, which the caller should close. A listener that is never closed leaks nothing, since it has
// no goroutine.
func Listen() *Listener {
	return &Listener{queue: make(chan *conn), closed: make(chan struct{})}
}

// Accept waits for the next connection. After Close, Accept returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, l.acceptError()
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, l.acceptError()
	}
}

func (l *Listener) acceptError() error {
	return &net.OpError{Op: "accept", Net: "mem", Addr: l.Addr(), Err: net.ErrClosed}
}

// Dial opens a connection to the listener and ignores the address. Dial returns when Accept has accepted the
// connection. If ctx ends first, Dial returns the error of ctx; if the listener is closed, the error wraps ErrRefused.
// The signature of Dial fits http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, l.dialError(network, err)
	}
	select {
	case <-l.closed:
		return nil, l.dialError(network, fmt.Errorf("dial %s: %w", addr, ErrRefused))
	default:
	}
	client, server := pair()
	select {
	case l.queue <- server:
		return client, nil
	case <-l.closed:
		return nil, l.dialError(network, fmt.Errorf("dial %s: %w", addr, ErrRefused))
	case <-ctx.Done():
		return nil, l.dialError(network, ctx.Err())
	}
}

func (l *Listener) dialError(network string, err error) error {
	return &net.OpError{Op: "dial", Net: network, Addr: l.Addr(), Err: err}
}

// Close makes Accept and Dial fail. Close leaves accepted connections open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the same address for every listener.
func (l *Listener) Addr() net.Addr { return addr("memnet") }

type addr string

func (addr) Network() string  { return "mem" }
func (a addr) String() string { return string(a) }
