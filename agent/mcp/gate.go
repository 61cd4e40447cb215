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

// Limits of one message of a server. The limits are checked before the SDK decodes the JSON, because the SDK copies a message
// several times, and a decoded value can take a hundred times as much memory as its JSON.
const (
	maxMessage = 6 << 20 // bytes
	maxRequest = 1 << 18 // bytes of a request or a notification, which the SDK queues
	maxDepth   = 200     // nesting of objects and arrays
	maxValues  = 200_000 // number of values and names in a message
	maxField   = 64      // bytes before the colon of a line of an event stream

	largeMessage = 1 << 20          // bytes; only one message that is larger is read at a time
	largeTime    = 15 * time.Second // maximum time for a larger message to arrive
)

// Limits of all messages of a server together. If a server exceeds these rates, its messages are read more slowly.
const (
	overhead              = 1 << 10 // bytes that each message counts in addition to its length
	bytesASecond          = 8 << 20
	bytesAtOnce           = 2 * maxMessage
	requestBytesPerSecond = 1 << 18 // bytes of requests and notifications
	ownAtOnce             = 1 << 19
	errorBodySize         = 64 << 10 // bytes of the body of an HTTP error
)

// framing says how the messages of a server are separated.
type framing uint8

const (
	wholeBody   framing = iota // the body is one message
	jsonValues                 // each JSON value is one message, as on a pipe
	eventStream                // an empty line ends a message; only data lines contain JSON
)

// scan checks the JSON of one message byte by byte, without storing it.
type scan struct {
	bytes, values     int
	depth, deepest    int
	inString, escaped bool
	name              []byte // the first bytes of the last string
	hasMethod         bool   // the message is a request or a notification
}

// add reads the next byte. add reports whether a JSON value ended with this byte.
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
		s.hasMethod = s.hasMethod || s.depth == 0 && b == '[' // a batch may contain requests; telex never asks for a batch
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
		// An escaped name could be any name, such as "method".
		s.hasMethod = s.hasMethod || s.depth == 1 && (string(s.name) == "method" || bytes.IndexByte(s.name, '\\') >= 0)
	}
	return false
}

func (s *scan) keep(b byte) {
	if len(s.name) < len("method")+1 {
		s.name = append(s.name, b)
	}
}

// wrong returns an error if the message that is being read exceeds a limit.
func (s *scan) wrong() error {
	switch {
	case s.bytes > maxMessage:
		return fmt.Errorf("message exceeds %d MiB", maxMessage>>20)
	case s.hasMethod && s.bytes > maxRequest:
		return fmt.Errorf("request or notification exceeds %d KiB", maxRequest>>10)
	case s.deepest > maxDepth:
		return fmt.Errorf("message nests deeper than %d levels", maxDepth)
	case s.values > maxValues:
		return fmt.Errorf("message holds more than %d values", maxValues)
	}
	return nil
}

// intake limits the messages of one server over all its connections. intake is safe for concurrent use.
type intake struct {
	all, own *rate.Limiter
	large    chan struct{} // capacity 1: held while a large message of any server is read
	next     chan struct{} // capacity 1: held by the one message of this server that waits for large or holds it
}

func newIntake() *intake {
	return &intake{
		all: rate.NewLimiter(bytesASecond, bytesAtOnce), own: rate.NewLimiter(requestBytesPerSecond, ownAtOnce), large: make(chan struct{}, 1), next: make(chan struct{}, 1),
	}
}

// wait delays the handling of a message that has arrived, so that the server does not exceed the rates.
func (i *intake) wait(ctx context.Context, m scan) error {
	n := m.bytes + overhead
	err := i.all.WaitN(ctx, n)
	if m.hasMethod && err == nil {
		err = i.own.WaitN(ctx, n)
	}
	return err
}

// gate is a reader through which the SDK reads the data of a server. If a message exceeds a limit, Read returns an error
// before the SDK has read the whole message.
type gate struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // an io.Reader has no other way to be cancelled
	abort   func()          // unblocks a running Read; may be called more than once
	intake  *intake
	framing framing
	failed  func(error) // called when a message exceeds a limit

	message scan
	line    lineScan
	release atomic.Pointer[func()] // releases the slot for a large message; nil: this gate holds no slot
	slow    atomic.Bool            // a large message took too long
	err     error
}

// lineScan is the state of the current line of an event stream.
type lineScan struct {
	field  []byte // the part of the line before the colon
	inData bool   // the reader is after the colon of a data line
	inRest bool   // the reader is after the colon of another line
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
		g.releaseLarge()
		g.err = err
	}
	return n, err
}

// Close implements io.Closer. Close may be called during Read.
func (g *gate) Close() error {
	g.abort()
	err := g.ReadCloser.Close()
	g.releaseLarge() // no further Read will release the slot
	return err
}

// check scans bytes that have arrived. check returns an error if their message exceeds a limit.
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
	if g.message.bytes > largeMessage && g.release.Load() == nil {
		return g.acquireLarge()
	}
	return nil
}

// next scans a byte according to the framing. next reports whether a message ended with this byte.
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

// end handles the end of a message. end waits if the server has exceeded the rates.
func (g *gate) end() error {
	if err := g.message.wrong(); err != nil {
		return err
	}
	g.releaseLarge()
	err := g.intake.wait(g.ctx, g.message)
	g.message = scan{name: g.message.name[:0]}
	return err
}

// acquireLarge waits until no other large message is being read, and starts the time limit of this message. Only one message
// of each server may wait, so that the servers take turns.
func (g *gate) acquireLarge() error {
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
		leave() // release the slot even if nobody reads the rest of the message
		g.abort()
	})
	leaveInTime := func() {
		late.Stop()
		leave()
	}
	g.release.Store(&leaveInTime)
	return nil
}

// releaseLarge releases the slot for a large message, if the gate holds the slot, so that another large message can be read.
func (g *gate) releaseLarge() {
	if leave := g.release.Swap(nil); leave != nil {
		(*leave)()
	}
}
