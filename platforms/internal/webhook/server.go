package webhook

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"telex/internal/chat"
)

// Listener creates a listener for each call of Serve. Serve closes the listener that the Listener has created.
type Listener func(ctx context.Context) (net.Listener, error)

// TCP returns a listener at host:port.
func TCP(address string) Listener {
	return func(ctx context.Context) (net.Listener, error) {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
}

// Server answers a platform's requests. The Server answers requests for every path, because a TLS proxy in front of
// the Server may change the path.
type Server struct {
	Listener    Listener
	Log         *slog.Logger
	Heart       *chat.Heartbeat // records a heartbeat regularly while Serve runs
	MaxBody     int64           // maximum size of a request's body in bytes; at most 4 MiB
	BodyTimeout time.Duration   // limits the time to read a body

	// Check checks the headers of a POST request, before the Server reads the request's body. Check returns a
	// function that checks the body. If the request is not from the platform, Check or the returned function returns
	// a *Refusal.
	Check func(*http.Request) (body func([]byte) error, err error)
	// Answer handles a checked POST request. The Server sends the response after Answer has returned, because a
	// platform does not repeat a request after a successful response. If Answer fails, the response asks the platform
	// to repeat the request, and Serve returns the error of Answer.
	Answer func(context.Context, Request) (Reply, error)
	// Get answers a GET request. Some platforms check the webhook's URL with a GET request. If Get is nil, the Server
	// refuses GET requests. The error of Get must be a *Refusal.
	Get func(*http.Request) (Reply, error)
	// OnOpen is called by Serve when the Server can receive requests.
	OnOpen func(context.Context)
}

// Request is a checked POST request.
type Request struct {
	Header  http.Header
	Body    []byte
	Arrived time.Time // when the Server had read the headers of the request
}

// Reply is the content of a successful response. The zero value of Reply is an empty response.
type Reply struct {
	ContentType string // empty: no header
	Body        []byte
}

// Text returns a plain text reply.
func Text(text string) Reply {
	return Reply{ContentType: "text/plain; charset=utf-8", Body: []byte(text)}
}

// SameSecret compares two secrets in constant time. SameSecret returns false if want is empty.
func SameSecret(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// serverRun is the state of one call of Serve.
type serverRun struct {
	Server
	ctx      context.Context //nolint:containedctx // ends with Serve, and then also ends waiting and unread requests.
	end      context.CancelCauseFunc
	requests *semaphore.Weighted
	bodies   *semaphore.Weighted // memory for long bodies, in bytes, that all requests share
	refused  rate.Sometimes      // limits the log's warnings about refused requests
}

// Serve answers requests until ctx ends or Answer fails, and returns the error of ctx or of Answer. Serve fails with
// a *chat.SendError of kind Temporary if it can't listen. Before Serve returns, it waits until all running requests
// are answered.
func (s Server) Serve(ctx context.Context) error {
	l, err := s.Listener(ctx)
	if err != nil {
		return cannotListen(err)
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	r := &serverRun{
		Server: s, ctx: running, end: end,
		requests: semaphore.NewWeighted(maxRequests), bodies: semaphore.NewWeighted(sharedBytes),
		refused: rate.Sometimes{Interval: time.Minute},
	}
	srv := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: 3 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second,
		IdleTimeout: 30 * time.Second, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	s.OnOpen(ctx) // until srv.Serve, the operating system queues new connections
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			end(cannotListen(err))
		}
	}()
	r.waitForEnd()
	_ = r.requests.Acquire(context.WithoutCancel(ctx), maxRequests) // wait until all running requests are answered
	_ = srv.Close()                                                 // unlike Shutdown, Close does not wait for unused connections
	<-done
	return context.Cause(running)
}

func cannotListen(err error) error {
	return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("listen for events: %w", err)}
}

// waitForEnd waits until r.ctx ends. While waitForEnd waits, it calls Heart.Beat regularly, so that the watchdog sees
// that the server works.
func (r *serverRun) waitForEnd() {
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog checks that the loop runs.
	defer beat.Stop()
	for r.ctx.Err() == nil {
		r.Heart.Beat()
		select {
		case <-r.ctx.Done():
		case <-beat.C:
		}
	}
}

// ServeHTTP handles one request.
func (r *serverRun) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.ctx.Err() != nil {
		askToRepeat(w)
		return
	}
	if !r.requests.TryAcquire(1) {
		r.refuse(w, &Refusal{http.StatusTooManyRequests, "too many requests at once"})
		return
	}
	defer r.requests.Release(1)
	if req.Method == http.MethodGet && r.Get != nil {
		reply, err := r.Get(req)
		if err != nil {
			r.refuse(w, err)
			return
		}
		write(w, reply)
		return
	}
	arrived := time.Now()
	body, err := r.read(w, req)
	if err != nil {
		r.refuse(w, err)
		return
	}
	reply, err := r.Answer(r.ctx, Request{Header: req.Header, Body: body, Arrived: arrived}) //nolint:contextcheck // a closed connection must not end Answer
	if err != nil {
		askToRepeat(w)
		r.end(err)
		return
	}
	write(w, reply)
}

// read checks a request and returns its body. If the headers show that the request is not from the platform, read
// does not read the body.
func (r *serverRun) read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	if req.Method != http.MethodPost {
		return nil, &Refusal{http.StatusMethodNotAllowed, "only webhook requests are answered here"}
	}
	check, err := r.Check(req)
	if err != nil {
		return nil, err
	}
	if req.ContentLength > r.MaxBody {
		return nil, errBodyTooLarge()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(r.BodyTimeout))
	// When Serve ends, the read deadline ends requests whose body has not arrived completely.
	stop := context.AfterFunc(r.ctx, func() { _ = control.SetReadDeadline(time.Now()) })
	body, err := readBody(req.Body, r.MaxBody, r.bodies)
	stop()
	if err != nil {
		return nil, err
	}
	return body, check(body)
}

// write sends a successful response with the content of reply.
func write(w http.ResponseWriter, reply Reply) {
	if reply.ContentType != "" {
		w.Header().Set("Content-Type", reply.ContentType)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(reply.Body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(reply.Body)                // ignore the error: if the connection is broken, the platform repeats the request
	_ = http.NewResponseController(w).Flush() // send the whole response before the server closes the connection
}

// askToRepeat asks the platform to repeat the request.
func askToRepeat(w http.ResponseWriter) {
	http.Error(w, "try again later", http.StatusServiceUnavailable)
	_ = http.NewResponseController(w).Flush() // send the response before the server closes the connection
}

// refuse responds to an invalid request with an error and closes the connection, so that the server does not read the
// rest of the request.
func (r *serverRun) refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		status = refusal.Status
	}
	level := slog.LevelDebug
	r.refused.Do(func() { level = slog.LevelWarn }) // warn at most once a minute, because anybody can send such requests
	r.Log.Log(r.ctx, level, "request refused", slog.Any("error", err))
	w.Header().Set("Connection", "close")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}
