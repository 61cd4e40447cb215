package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/internal/config"
)

// errNotRoot means that a user other than root has tried to pass a configuration to the daemon. If the daemon's own user could
// pass a configuration, so could other programs that run as this user, such as MCP servers.
var errNotRoot = errors.New("only root may pass a configuration to the daemon: without --config, the daemon reads its own file again")

// peerKey is the context key for the id of the Unix user who opened a connection.
type peerKey struct{}

func withPeer(ctx context.Context, conn net.Conn) context.Context {
	if unix, ok := conn.(*net.UnixConn); ok {
		if uid, err := peerOf(unix); err == nil {
			return context.WithValue(ctx, peerKey{}, uid)
		}
	}
	return ctx
}

func isRoot(ctx context.Context) bool {
	uid, known := ctx.Value(peerKey{}).(uint32)
	return known && uid == 0
}

// A daemon's control socket uses HTTP with JSON. Only the daemon's user and root can open the socket, so everybody who
// can open it counts as an operator.
const (
	pathPairing  = "/v1/pairing"
	pathApprove  = "/v1/pairing/approve"
	pathRevoke   = "/v1/pairing/revoke"
	pathDelete   = "/v1/sessions/delete"
	pathStatus   = "/v1/status"
	pathReplicas = "/v1/replicas"
	pathReload   = "/v1/reload"
	pathChat     = "/v1/chat" // upgrades the connection to the terminal's protocol
)

const (
	// controlHost is the host name in requests to the control socket. HTTP requires a host name, but the server
	// ignores it.
	controlHost = "telex"
	// controlProtocol is the name of the protocol to which a request for pathChat upgrades its connection.
	controlProtocol = "telex-terminal"
	// maxRequest is the maximum size of a request body in bytes. Requests contain only ids and codes, which are much
	// smaller.
	maxRequest = 4 << 10
	// maxPassed is the maximum size in bytes of a request that contains a configuration and its secret files.
	maxPassed = 16 << 20
	// maxAnswer is the maximum size of a response body in bytes. The list of all admitted people may become large.
	maxAnswer = 16 << 20
	// controlTimeout is the longest time that a request may take. controlIdle is the longest time between two requests
	// on a connection.
	controlTimeout = 20 * time.Second
	controlIdle    = 10 * time.Second
	// controlEnd is how long running requests may continue when the daemon stops.
	controlEnd = time.Second
)

type (
	approveRequest struct {
		Code string `json:"code"`
	}
	revokeRequest struct {
		Person string `json:"person"`
	}
	reloadRequest struct {
		Passed *config.Bundle `json:"passed,omitempty"` // nil: the daemon reads its own file
	}
	errorBody struct {
		Error string `json:"error"`
	}
	none struct{}
)

// control is the server behind a daemon's control socket.
type control struct {
	do       operations
	status   func(context.Context) DaemonStatus
	replicas func() Replicas
	reload   func(context.Context, *config.Bundle) (Reloaded, error)
	attach   func(context.Context, net.Conn) error // connects a terminal to the hub, which then owns the connection
	log      *slog.Logger

	ready     chan struct{}  // closed when the daemon is ready to execute operations
	terminals sync.WaitGroup // counts the connections that were passed to attach
}

// start creates the socket at path and serves it until the returned function end is called. end cancels running
// requests and waits for them. If the socket can't be created, start only logs the error, because the daemon can answer
// people without the socket.
func (c *control) start(ctx context.Context, path string) (end func()) {
	l, err := listenControl(path)
	if err != nil {
		c.log.Warn("no control socket: commands such as telex status can't reach this daemon", slog.String("path", path), slog.Any("error", err))
		return func() {}
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server := &http.Server{
		Handler: c.routes(), ReadTimeout: controlTimeout, WriteTimeout: 2 * controlTimeout, IdleTimeout: controlIdle,
		ErrorLog:    slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return serving },
		ConnContext: withPeer,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.log.Error("control socket failed: commands such as telex status can't reach this daemon any more", slog.String("path", path), slog.Any("error", err))
		}
	}()
	return func() {
		if err := os.Remove(path); err != nil {
			c.log.Warn("control socket was not removed", slog.Any("error", err))
		}
		cancel()
		last, enough := context.WithTimeout(context.WithoutCancel(ctx), controlEnd)
		defer enough()
		if server.Shutdown(last) != nil {
			_ = server.Close() // some requests took longer than controlEnd
		}
		<-served
		c.terminals.Wait()
	}
}

func (c *control) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathPairing, answer(c, func(ctx context.Context, _ none) (Pairing, error) { return c.do.pairing(ctx) }))
	mux.Handle("POST "+pathApprove, answer(c, func(ctx context.Context, r approveRequest) (Admitted, error) {
		return c.do.approve(ctx, r.Code)
	}))
	mux.Handle("POST "+pathRevoke, answer(c, func(ctx context.Context, r revokeRequest) (none, error) {
		p, err := chat.ParsePerson(r.Person)
		if err != nil {
			return none{}, err
		}
		return none{}, c.do.revoke(ctx, p)
	}))
	mux.Handle("POST "+pathDelete, answer(c, c.do.delete))
	mux.Handle("GET "+pathStatus, answer(c, func(ctx context.Context, _ none) (DaemonStatus, error) { return c.status(ctx), nil }))
	mux.Handle("GET "+pathReplicas, answer(c, func(context.Context, none) (Replicas, error) { return c.replicas(), nil }))
	mux.Handle("POST "+pathReload, answerTo(c, maxPassed, func(ctx context.Context, r reloadRequest) (Reloaded, error) {
		if r.Passed != nil && !isRoot(ctx) {
			return Reloaded{}, errNotRoot
		}
		return c.reload(ctx, r.Passed)
	}))
	mux.HandleFunc("POST "+pathChat, c.chat)
	return mux
}

// answer returns an HTTP handler that decodes the request, calls the function do, and encodes the result of do.
func answer[Q, A any](c *control, do func(context.Context, Q) (A, error)) http.Handler {
	return answerTo(c, maxRequest, do)
}

// answerTo is like answer, but the parameter most is the maximum size of the request body.
func answerTo[Q, A any](c *control, most int64, do func(context.Context, Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), controlTimeout)
		defer cancel()
		var request Q
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&request); err != nil && !errors.Is(err, io.EOF) {
			c.write(w, http.StatusBadRequest, errorBody{"read request: " + err.Error()})
			return
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			c.write(w, http.StatusServiceUnavailable, errorBody{c.notReady()})
			return
		}
		out, err := do(ctx, request)
		if err != nil {
			c.write(w, http.StatusUnprocessableEntity, errorBody{err.Error()})
			return
		}
		c.write(w, http.StatusOK, out)
	})
}

// notReady returns a message that says that the daemon is not ready, and why, if the reason is known.
func (c *control) notReady() string {
	const text = "the daemon is not ready"
	if c.replicas != nil {
		if trouble := c.replicas().Trouble; trouble != "" {
			return text + ": " + trouble
		}
	}
	return text
}

func (c *control) write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		c.log.Debug("answer to an operator was not written", slog.Any("error", err))
	}
}

// chat upgrades a connection to the terminal's protocol and runs a conversation on it.
// https://www.rfc-editor.org/rfc/rfc9110#name-upgrade
func (c *control) chat(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != controlProtocol {
		w.Header().Set("Upgrade", controlProtocol)
		c.write(w, http.StatusUpgradeRequired, errorBody{"the daemon has a different version from this program: restart the daemon"})
		return
	}
	c.terminals.Add(1)
	defer c.terminals.Done()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		c.write(w, http.StatusInternalServerError, errorBody{err.Error()})
		return
	}
	if err := c.upgrade(conn, buffered); err != nil {
		c.log.Debug("terminal was not attached", slog.Any("error", err))
		_ = conn.Close() // after Hijack, no HTTP response can tell the client about the failed upgrade
		return
	}
	if err := c.attach(r.Context(), conn); err != nil {
		c.log.Error("terminal connection failed", slog.Any("error", err))
	}
}

// upgrade sends the response that switches the connection to the terminal's protocol. The client must not send
// anything before it has received this response.
func (c *control) upgrade(conn net.Conn, buffered *bufio.ReadWriter) error {
	if buffered.Reader.Buffered() > 0 {
		return errors.New("the client sent data before it got the response")
	}
	if err := conn.SetDeadline(time.Now().Add(controlTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+controlProtocol+"\r\n\r\n")
	return errors.Join(err, conn.SetDeadline(time.Time{}))
}
