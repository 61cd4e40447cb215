package outside

import (
	"net"
	"sync"
	"time"
)

// connections counts the connections that a listener accepts.
type connections struct {
	net.Listener
	mu   sync.Mutex
	came []time.Time // arrival times of all connections, including those that an outage refuses
	open int
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.came = append(c.came, time.Now())
	if err != nil {
		return nil, err
	}
	c.open++
	closed := sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
	})
	return &connection{conn, closed}, nil
}

type connection struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closed()
	return c.Conn.Close()
}

// Connected returns how many connections to the platform arrived between two times.
func (w *World) Connected(from, to time.Time) int {
	w.connections.mu.Lock()
	defer w.connections.mu.Unlock()
	n := 0
	for _, t := range w.connections.came {
		if !t.Before(from) && t.Before(to) {
			n++
		}
	}
	return n
}

// Open returns the number of open connections to the platform.
func (w *World) Open() int {
	w.connections.mu.Lock()
	defer w.connections.mu.Unlock()
	return w.connections.open
}
