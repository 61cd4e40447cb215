package telegram_test

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"telex/standin/memnet"
)

const (
	hookURL    = "http://localhost/hook"
	hookSecret = "hook-secret_1"
)

// newHookedWorld returns a world whose bots receive updates by a webhook.
func newHookedWorld(t *testing.T) *world { return makeWorld(t, &memoryListener{}) }

// memoryListener is an in-memory network address on which bots listen, one after the other. A new listener replaces the
// previous listener at the address, as after a restart.
type memoryListener struct {
	mu sync.Mutex
	l  *memnet.Listener
}

func (d *memoryListener) listen(context.Context) (net.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.l = memnet.Listen()
	return d.l, nil
}

func (d *memoryListener) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	l := d.l
	d.mu.Unlock()
	if l == nil {
		return memnet.Refuse(ctx, network, address)
	}
	c, err := l.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return garblingConn{c}, nil
}

// garblingConn is a connection that corrupts updates that contain the constant garbled. In a corrupted update, the date
// is a string instead of a number.
type garblingConn struct{ net.Conn }

var date = regexp.MustCompile(`"date":[0-9]{3,}`)

func (c garblingConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(garbled)) {
		b = date.ReplaceAllFunc(bytes.Clone(b), func(s []byte) []byte {
			return []byte(`"date":"` + strings.Repeat("x", len(s)-len(`"date":""`)) + `"`)
		})
	}
	return c.Conn.Write(b)
}
