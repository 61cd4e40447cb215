package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// body returns the body of a message from the server with the intake i. A goroutine sends the first bytes of the body. The
// caller writes the rest of the body into the PipeWriter.
func body(t *testing.T, i *intake, first int) (*gate, *io.PipeWriter) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	g := &gate{
		ReadCloser: r, ctx: ctx, intake: i, framing: wholeBody, failed: func(error) {},
		abort: func() { cancel(); _ = r.CloseWithError(context.Canceled) },
	}
	go func() { _, _ = w.Write(bytes.Repeat([]byte("x"), first)) }()
	return g, w
}

// intakes returns the intakes of servers that share one slot for a large message.
func intakes(n int) (all []*intake) {
	large := make(chan struct{}, 1)
	for range n {
		i := newIntake()
		i.large = large
		all = append(all, i)
	}
	return all
}

// Even if a server sends many large messages slowly, a large message of another server waits for at most one of them.
func TestGate_oneServerBlocksAnotherForOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := intakes(2)
		var reading sync.WaitGroup
		for range 10 {
			g, _ := body(t, all[0], largeMessage+1)
			reading.Go(func() { _, _ = io.Copy(io.Discard, g) })
		}
		synctest.Wait()
		began := time.Now()
		g, w := body(t, all[1], largeMessage+1)
		go func() { synctest.Wait(); _ = w.Close() }()
		n, err := io.Copy(io.Discard, g)
		if took := time.Since(began); err != nil || n != largeMessage+1 || took > largeTime+time.Second {
			t.Errorf("%d bytes after %v, %v; want all of them within %v", n, took, err, largeTime)
		}
		reading.Wait()
	})
}

// If nobody reads a large message to its end, its slot is released when the message is closed, or after a timeout.
func TestGate_anAbandonedMessageFreesItsPlace(t *testing.T) {
	for _, closed := range []bool{true, false} {
		t.Run(fmt.Sprint("closed: ", closed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := intakes(2)
				left, _ := body(t, all[0], 2*largeMessage)
				if _, err := io.ReadFull(left, make([]byte, largeMessage+1)); err != nil {
					t.Fatal(err)
				}
				limit := largeTime
				if closed {
					limit = 0
					_ = left.Close()
				}
				began := time.Now()
				g, _ := body(t, all[1], largeMessage+1)
				_, err := io.ReadFull(g, make([]byte, largeMessage+1))
				if took := time.Since(began); err != nil || took > limit {
					t.Errorf("after %v: %v; want the other message within %v", took, err, limit)
				}
			})
		})
	}
}
