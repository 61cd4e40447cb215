package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
)

// operate calls the function use with an implementation of operations. If the daemon of the state directory can be reached,
// this daemon executes the operations. If no daemon can be reached, this process opens the store and executes the operations.
func operate(ctx context.Context, env config.Env, use func(operations) error) (err error) {
	at, found, err := withDaemon(ctx, env, use)
	if found || err != nil {
		return err
	}
	s, err := at.write(ctx)
	if errors.Is(err, store.ErrLocked) {
		return notReached(err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	policy := access.NewPolicy(access.Rules{}, s, slog.New(slog.DiscardHandler))
	if err := policy.Load(ctx); err != nil {
		return err
	}
	return use(adminWithoutDaemon(s, policy))
}

// If withDaemon can reach a daemon, it calls the function use with operations that this daemon executes. withDaemon also
// returns where the store is.
func withDaemon(ctx context.Context, env config.Env, use func(operations) error) (at location, found bool, err error) {
	if at, err = locate(env); err != nil {
		return at, false, err
	}
	conn, err := dialDaemon(ctx, env, at.dir)
	switch {
	case errors.Is(err, errNoSocket):
		return at, false, nil
	case err != nil:
		return at, false, err
	}
	return at, true, use(remote{conn})
}

// operateReadOnly is like operate, but for operations that only read. If no daemon can be reached, operateReadOnly
// opens the store without creating a file or taking the lock.
func operateReadOnly(ctx context.Context, env config.Env, use func(operations) error) (err error) {
	at, found, err := withDaemon(ctx, env, use)
	if found || err != nil {
		return err
	}
	if at.dsn.IsSQLite() { // a lock exists only on a file; daemons may use a database at the same time
		if err := store.CheckLock(at.file()); errors.Is(err, store.ErrLocked) {
			return notReached(err)
		}
	}
	r, err := at.read(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	policy := access.NewPolicy(access.Rules{}, readOnly{r}, slog.New(slog.DiscardHandler))
	if err := policy.Load(ctx); err != nil {
		return err
	}
	return use(&localAdmin{policy: policy})
}

// readOnly is a store for commands that only read. The methods of readOnly that would write return an error.
type readOnly struct{ storeReader }

var errReadOnly = errors.New("the store is open for reading")

// SavePairingRequest implements access.Store.
func (readOnly) SavePairingRequest(context.Context, chat.PairingRequest) error { return errReadOnly }

// Admit implements access.Store.
func (readOnly) Admit(context.Context, chat.Admission) error { return errReadOnly }

// Revoke implements access.Store.
func (readOnly) Revoke(context.Context, chat.Person) (bool, error) { return false, errReadOnly }

// notReached returns the error of a command that can't reach the daemon's socket although a daemon uses the store. The
// parameter locked is the error that says that the store is in use.
func notReached(locked error) error {
	return fmt.Errorf("a daemon runs, but can't be reached by its socket: if it is just starting or stopping, try again; otherwise run this "+
		"command on its machine, as its user and with its XDG_RUNTIME_DIR (%w)", locked)
}

// dialRunning connects to the running daemon. dialRunning fails with errNoDaemon if it can't reach the daemon.
func dialRunning(ctx context.Context, env config.Env) (net.Conn, error) {
	dir, err := stateDir(env)
	if err != nil {
		return nil, err
	}
	conn, err := dialDaemon(ctx, env, dir)
	if errors.Is(err, errNoSocket) {
		return nil, fmt.Errorf("%w: %s", errNoDaemon, dir)
	}
	return conn, err
}

// dialDaemon connects to the daemon whose state directory is dir. dialDaemon fails with errNoSocket if it can't reach
// the daemon.
func dialDaemon(ctx context.Context, env config.Env, dir string) (net.Conn, error) {
	places, err := socketPlaces(env, dir)
	if err != nil {
		return nil, err
	}
	if !namesState(env) && !exists(store.File(dir)) { // also try the systemd service, whose store may be a database
		more, err := socketPlaces(env, serviceStateDir)
		if err != nil {
			return nil, err
		}
		places = append(places, more...)
	}
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	for _, path := range places {
		conn, err := dialControl(ctx, path)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, errNoSocket) {
			return nil, fmt.Errorf("connect to the daemon at %s: %w", path, err)
		}
	}
	return nil, errNoSocket
}

// remote is a connection to a daemon, for one request.
type remote struct{ conn net.Conn }

func (r remote) pairing(ctx context.Context) (Pairing, error) {
	return ask[Pairing](ctx, r, http.MethodGet, pathPairing, nil)
}

func (r remote) approve(ctx context.Context, code string) (Admitted, error) {
	return ask[Admitted](ctx, r, http.MethodPost, pathApprove, approveRequest{code})
}

func (r remote) revoke(ctx context.Context, p chat.Person) error {
	_, err := ask[none](ctx, r, http.MethodPost, pathRevoke, revokeRequest{p.String()})
	return err
}

func (r remote) delete(ctx context.Context, what Deletion) (Deleted, error) {
	return ask[Deleted](ctx, r, http.MethodPost, pathDelete, what)
}

// ask sends one request to the daemon, closes the connection, and returns the response.
func ask[A any](ctx context.Context, r remote, method, path string, body any) (out A, err error) {
	defer func() { _ = r.conn.Close() }() // an error of Close doesn't matter: ask has the response or a better error
	defer context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Unix(1, 0)) })()
	resp, err := r.exchange(ctx, method, path, body, http.Header{"Connection": {"close"}})
	if err != nil {
		return out, errors.Join(ctx.Err(), err)
	}
	defer func() { _ = resp.Body.Close() }() // ignore the error of Close: the body was read
	if resp.StatusCode != http.StatusOK {
		return out, refusal(resp)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return out, nil
}

func (r remote) exchange(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	if err := r.conn.SetDeadline(time.Now().Add(2 * controlTimeout)); err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	content := []byte(nil)
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("ask the daemon: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+controlHost+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	req.Header = header
	if err := req.Write(r.conn); err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(r.conn), req)
	if err != nil {
		return nil, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return resp, nil
}

// refusal returns the error that the daemon's response contains.
func refusal(resp *http.Response) error {
	var t errorBody
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&t); err != nil || t.Error == "" {
		return fmt.Errorf("the daemon answered %s; if its version differs from this program's, restart it", resp.Status)
	}
	return RefusedError{t.Error}
}

// terminal switches the connection to the terminal's protocol and returns the connection. If the upgrade fails, terminal closes
// the connection.
func (r remote) terminal(ctx context.Context) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Unix(1, 0)) })()
	resp, err := r.exchange(ctx, http.MethodPost, pathChat, nil, http.Header{"Connection": {"Upgrade"}, "Upgrade": {controlProtocol}})
	if err == nil {
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return r.conn, r.conn.SetDeadline(time.Time{})
		}
		err = refusal(resp)
		_ = resp.Body.Close() // ignore the error of Close: the body was read
	}
	_ = r.conn.Close() // return the error of the upgrade, which is more useful
	return nil, err
}
