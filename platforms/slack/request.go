package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Anybody can reach the address where Slack's requests arrive. These limits bound the memory that all
// requests together can take before their signatures are checked: about 10 MB.
const (
	// maxBody bounds a request body, in bytes. Slack documents no limit; events are far smaller.
	maxBody = 1 << 20
	// ownBytes is what each request body may take in any case, and sharedBytes what longer bodies share.
	ownBytes    = 16 << 10
	sharedBytes = 4 << 20
	// maxRequests is how many requests are handled at the same time.
	maxRequests = 128
	// maxConnections is how many connections are open at the same time. Further ones are closed at once.
	maxConnections = 256
	// maxHeader bounds the headers of a request, in bytes.
	maxHeader = 16 << 10
	// bodyTimeout is how long a body may take to arrive. Slack gives up after ackTime.
	bodyTimeout = ackTime
)

// clockWindow is how old a request may be, so that one that was overheard can't be repeated later.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
const clockWindow = 5 * time.Minute

// requestError is a request that is refused, with the status that says so.
type requestError struct {
	status int
	error
}

// readRequest returns the body of a request by Slack. It reads nothing of a request whose headers can't be Slack's.
func (r *reception) readRequest(ctx context.Context, w http.ResponseWriter, req *http.Request) ([]byte, error) {
	if req.Method != http.MethodPost {
		return nil, requestError{http.StatusMethodNotAllowed, errors.New("only Slack's requests are answered here")}
	}
	if err := checkHeaders(req.Header, time.Now()); err != nil {
		return nil, requestError{http.StatusUnauthorized, err}
	}
	if req.ContentLength > maxBody {
		return nil, requestError{http.StatusRequestEntityTooLarge, errors.New("the body is too large")}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	// A request that is never finished must not keep Run from ending.
	stop := context.AfterFunc(ctx, func() { _ = control.SetReadDeadline(time.Now()) })
	body, err := r.bodies.read(req.Body)
	stop()
	if err != nil {
		return nil, err
	}
	if err := verify(r.bot.opts.SigningSecret, req.Header, body, time.Now()); err != nil {
		return nil, requestError{http.StatusUnauthorized, err}
	}
	return body, nil
}

const (
	headerTimestamp = "X-Slack-Request-Timestamp"
	headerSignature = "X-Slack-Signature"
	signaturePrefix = "v0="
)

// checkHeaders returns an error if no body could make the request valid.
func checkHeaders(h http.Header, now time.Time) error {
	seconds, err := strconv.ParseInt(h.Get(headerTimestamp), 10, 64)
	if err != nil {
		return errors.New("the request has no timestamp")
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > clockWindow {
		return errors.New("the request is too old: if this goes on, the clock of this machine is wrong")
	}
	digits, ok := strings.CutPrefix(h.Get(headerSignature), signaturePrefix)
	if sum, err := hex.DecodeString(digits); !ok || err != nil || len(sum) != sha256.Size {
		return errors.New("the request has no signature")
	}
	return nil
}

// verify checks that a request is Slack's: signed with the secret, and not long ago.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
func verify(secret string, h http.Header, body []byte, now time.Time) error {
	if err := checkHeaders(h, now); err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + h.Get(headerTimestamp) + ":"))
	mac.Write(body)
	want := signaturePrefix + hex.EncodeToString(mac.Sum(nil))
	if !hmac.Equal([]byte(want), []byte(h.Get(headerSignature))) {
		return errors.New("the signature is wrong: is signing_secret that of this app?")
	}
	return nil
}

// bodies reads the bodies of requests within the memory that they share.
type bodies struct {
	mu     sync.Mutex
	shared int // bytes in use beyond what each body has of its own
}

// read returns a whole body. The memory is taken as the bytes arrive, not as they are announced.
func (b *bodies) read(from io.Reader) ([]byte, error) {
	buffer, taken := make([]byte, 0, 1<<10), 0
	defer func() { b.give(taken) }()
	for {
		if len(buffer) == cap(buffer) {
			size := 2 * cap(buffer)
			if size > 2*maxBody {
				return nil, requestError{http.StatusRequestEntityTooLarge, errors.New("the body is too large")}
			}
			more := max(0, size-ownBytes) - taken
			if !b.take(more) {
				return nil, requestError{http.StatusTooManyRequests, errors.New("too many large requests at once")}
			}
			taken += more
			buffer = append(make([]byte, 0, size), buffer...)
		}
		n, err := from.Read(buffer[len(buffer):cap(buffer)])
		if buffer = buffer[:len(buffer)+n]; len(buffer) > maxBody {
			return nil, requestError{http.StatusRequestEntityTooLarge, errors.New("the body is too large")}
		}
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return nil, requestError{http.StatusBadRequest, errors.New("the body was cut, or came too slowly")}
		}
	}
}

// take reserves n bytes of the shared memory. It returns false when there is not that much.
func (b *bodies) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shared+n > sharedBytes {
		return false
	}
	b.shared += n
	return true
}

func (b *bodies) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared -= n
}

// limitedListener closes connections beyond maxConnections.
type limitedListener struct {
	net.Listener
	open chan struct{} // holds a token for each connection
}

func limit(l net.Listener) net.Listener {
	return limitedListener{Listener: l, open: make(chan struct{}, maxConnections)}
}

// Accept returns the next connection that there is room for.
func (l limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // The server compares it.
		}
		select {
		case l.open <- struct{}{}:
			return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = c.Close()
		}
	}
}

// limitedConn is a connection that makes room when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close() //nolint:wrapcheck // It is what it wraps.
}

// CloseWrite ends what is sent, so that a client that still sends gets its answer before the connection ends.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() //nolint:wrapcheck // It is what it wraps.
	}
	return nil
}
