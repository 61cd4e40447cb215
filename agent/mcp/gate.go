package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Limits on one message of a server, after framing and before JSON is decoded. The SDK copies a message several times while
// it decodes it, and a decoded value takes up to a hundred times its length in JSON.
const (
	maxMessage = 6 << 20 // bytes
	maxOwn     = 1 << 18 // bytes of a request or a notification, which the SDK queues
	maxDepth   = 200     // objects and arrays inside each other
	maxValues  = 200_000 // values and names
	maxField   = 64      // bytes before the colon of a line of an event stream

	largeMessage = 1 << 20          // bytes; one message above this is read at a time
	largeTime    = 15 * time.Second // in which such a message must arrive
)

// Limits on all messages of a server together. What comes faster is read more slowly.
const (
	overhead      = 1 << 10 // bytes that each message counts for besides its length
	bytesASecond  = 8 << 20
	bytesAtOnce   = 2 * maxMessage
	ownASecond    = 1 << 18 // of requests and notifications
	ownAtOnce     = 1 << 19
	errorBodySize = 64 << 10 // bytes of the body of an HTTP error
)

// framing says where a message ends.
type framing uint8

const (
	wholeBody   framing = iota // with the body
	jsonValues                 // with the end of a JSON value: a pipe has one after the other
	eventStream                // with an empty line; only lines of data hold JSON
)

// scan reads the JSON of one message byte by byte, without keeping it.
type scan struct {
	bytes, values     int
	depth, deepest    int
	inString, escaped bool
	name              []byte // the first bytes of the last string
	own               bool   // it has a method: it is a request or a notification
}

// add takes the next byte. It reports whether a JSON value ended with it.
func (s *scan) add(b byte) (ended bool) {
	switch {
	case s.escaped:
		s.escaped = false
		s.keep(b)
	case s.inString && b == '\\':
		s.escaped = true
		s.keep(b)
	case s.inString && b == '"':
		s.inString = false
	case s.inString:
		s.keep(b)
	case b == '"':
		s.inString, s.name = true, s.name[:0]
	case b == '{' || b == '[':
		s.own = s.own || s.depth == 0 && b == '[' // a batch: nobody here ever asks for one
		s.depth++
		s.deepest = max(s.deepest, s.depth)
		s.values++
	case b == '}' || b == ']':
		s.depth--
		return s.depth <= 0
	case b == ',':
		s.values++
	case b == ':':
		s.values++
		// An escaped name may be any name.
		s.own = s.own || s.depth == 1 && (string(s.name) == "method" || bytes.IndexByte(s.name, '\\') >= 0)
	}
	return false
}

func (s *scan) keep(b byte) {
	if len(s.name) < len("method")+1 {
		s.name = append(s.name, b)
	}
}

// wrong says which limit the message exceeds.
func (s *scan) wrong() error {
	switch {
	case s.bytes > maxMessage:
		return fmt.Errorf("message exceeds %d MiB", maxMessage>>20)
	case s.own && s.bytes > maxOwn:
		return fmt.Errorf("request or notification exceeds %d KiB", maxOwn>>10)
	case s.deepest > maxDepth:
		return fmt.Errorf("message nests deeper than %d levels", maxDepth)
	case s.values > maxValues:
		return fmt.Errorf("message holds more than %d values", maxValues)
	}
	return nil
}

// intake limits what one server sends over all its connections. It is safe for concurrent use.
type intake struct {
	all, own *rate.Limiter
	large    chan struct{} // holds the place of the one large message of all servers
	next     chan struct{} // holds the place of the server's one message that has that place or waits for it
}

func newIntake() *intake {
	return &intake{
		all: rate.NewLimiter(bytesASecond, bytesAtOnce), own: rate.NewLimiter(ownASecond, ownAtOnce), large: make(chan struct{}, 1), next: make(chan struct{}, 1),
	}
}

// pass waits until a message that has arrived fits the rates.
func (i *intake) pass(ctx context.Context, m scan) error {
	n := m.bytes + overhead
	err := i.all.WaitN(ctx, n)
	if m.own && err == nil {
		err = i.own.WaitN(ctx, n)
	}
	return err
}

// gate reads what a server sends. It ends with an error where a message exceeds a limit, before the SDK has all of it.
type gate struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // an io.Reader has no other way to learn that nobody waits any more
	abort   func()          // ends a Read that is under way; may be called more than once
	intake  *intake
	framing framing
	failed  func(error) // is told of a message that exceeds a limit

	message scan
	line    lineScan
	leave   atomic.Pointer[func()] // gives the place of a large message back; nil: it has none
	slow    atomic.Bool            // a large message took too long
	err     error
}

// lineScan is what an event stream's current line is.
type lineScan struct {
	field  []byte // before the colon
	inData bool   // behind the colon of a line of data
	inRest bool   // behind another colon
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.ReadCloser.Read(p)
	limit := g.check(p[:n])
	if limit == nil && errors.Is(err, io.EOF) && g.message.bytes > 0 {
		limit = g.end()
	}
	if g.slow.Load() {
		limit = fmt.Errorf("large message did not arrive within %s", largeTime)
	}
	if limit != nil {
		n, err = 0, limit
		if g.ctx.Err() == nil {
			g.failed(limit)
		}
	}
	if err != nil {
		g.free()
		g.err = err
	}
	return n, err
}

// Close implements io.Closer. It may be called while Read reads.
func (g *gate) Close() error {
	g.abort()
	err := g.ReadCloser.Close()
	g.free() // nobody may read again
	return err
}

// check takes bytes that have arrived.
func (g *gate) check(p []byte) error {
	for _, b := range p {
		g.message.bytes++
		ended, err := g.next(b)
		if err == nil && ended {
			err = g.end()
		}
		if err != nil {
			return err
		}
	}
	if err := g.message.wrong(); err != nil {
		return err
	}
	if g.message.bytes > largeMessage && g.leave.Load() == nil {
		return g.hold()
	}
	return nil
}

// next takes a byte as the framing has it. It reports whether a message ended with it.
func (g *gate) next(b byte) (ended bool, err error) {
	if g.framing != eventStream {
		return g.message.add(b) && g.framing == jsonValues, nil
	}
	l := &g.line
	switch {
	case b == '\n':
		ended = !l.inData && !l.inRest && len(bytes.TrimRight(l.field, "\r")) == 0
		*l = lineScan{field: l.field[:0]}
	case l.inData:
		g.message.add(b)
	case l.inRest:
	case b == ':':
		l.inData = string(l.field) == "data"
		l.inRest = !l.inData
	case len(l.field) == maxField:
		return false, errors.New("malformed line in an event stream")
	default:
		l.field = append(l.field, b)
	}
	return ended, nil
}

// end ends a message. It waits until the message fits the rates.
func (g *gate) end() error {
	if err := g.message.wrong(); err != nil {
		return err
	}
	g.free()
	err := g.intake.pass(g.ctx, g.message)
	g.message = scan{name: g.message.name[:0]}
	return err
}

// hold takes the place of the one large message, and gives the message a time limit. The places of several servers go
// round: of each server only one message waits, however many it sends.
func (g *gate) hold() error {
	for taken, place := range []chan struct{}{g.intake.next, g.intake.large} {
		select {
		case place <- struct{}{}:
		case <-g.ctx.Done():
			if taken > 0 {
				<-g.intake.next
			}
			return context.Cause(g.ctx)
		}
	}
	leave := sync.OnceFunc(func() {
		<-g.intake.large
		<-g.intake.next
	})
	late := time.AfterFunc(largeTime, func() {
		g.slow.Store(true)
		leave() // also when nobody reads the rest
		g.abort()
	})
	leaveInTime := func() {
		late.Stop()
		leave()
	}
	g.leave.Store(&leaveInTime)
	return nil
}

// free gives the place of the one large message back, if this one has it.
func (g *gate) free() {
	if leave := g.leave.Swap(nil); leave != nil {
		(*leave)()
	}
}
