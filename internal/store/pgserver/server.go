package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"telex/internal/outside"
)

const (
	// Password is the password of the database user telex. The server accepts connections without a password as well.
	Password  = "pg-pass-not-shown"
	superuser = "telex"
	// patience is the longest time that a server may take to start or to stop.
	patience = 60 * time.Second
	// again is the pause between two checks of whether a server has started.
	again = 20 * time.Millisecond
)

// Server is a running PostgreSQL server.
type Server struct {
	o        Options
	bin, dir string
	address  string              // host and port
	cred     *syscall.Credential // the system user that runs the server; nil: this process's user
	cmd      *exec.Cmd
	log      bytes.Buffer
	count    atomic.Int64 // number of databases that Create has made
}

// Options configures a server.
type Options struct {
	Durable  bool     // the server syncs to the disk, so that its data survives a kill; a server without syncs is faster
	Settings []string // further server parameters, such as shared_preload_libraries=pg_stat_statements
}

// Start starts a server in a new directory. The caller of Start must call Close.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o}
	err := s.prepare(ctx)
	if err == nil {
		err = s.Restart(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close kills the server and deletes its directory.
func (s *Server) Close() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }

// prepare creates the directory of a new server.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.bin, err = programs(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "telex-postgres-"); err != nil { // another user can't enter a test's directory
		return err
	}
	if os.Geteuid() == 0 { // run the server as another user, because PostgreSQL refuses to run as root
		if err := s.dropRoot(); err != nil {
			return err
		}
	}
	initdb := s.command("initdb", "--pgdata="+s.data(), "--username="+superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.address, err = outside.FreeAddress(ctx)
	return err
}

// programs returns the directory of the newest PostgreSQL that is installed.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian's directory for PostgreSQL is not in PATH
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", errors.New("no PostgreSQL found: install Debian's package postgresql, or put its programs into PATH")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

func (s *Server) dropRoot() error {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(errUID, errGID); err != nil {
			return err
		}
		s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return os.Chown(s.dir, int(uid), int(gid))
	}
	return errors.New("there is neither a user postgres nor a user nobody to run PostgreSQL as")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, program), args...)
	c.Dir = s.dir
	c.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	return c
}

// Restart starts the server after Kill or Stop, and waits until it answers.
func (s *Server) Restart(ctx context.Context) error {
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	set := []string{
		"-D", s.data(), "-c", "listen_addresses=" + host, "-c", "port=" + port, "-c", "unix_socket_directories=",
		"-c", "max_connections=300", "-c", "shared_buffers=32MB", "-c", "dynamic_shared_memory_type=mmap", "-c", "max_wal_size=256MB",
	}
	if !s.o.Durable {
		set = append(set, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	for _, setting := range s.o.Settings {
		set = append(set, "-c", setting)
	}
	s.cmd = s.command("postgres", set...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	deadline := time.Now().Add(patience)
	for {
		err := s.do(ctx, "postgres", func(context.Context, *pgx.Conn) error { return nil })
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("PostgreSQL does not start: %w\n%s", errors.Join(err, s.Kill()), s.log.String())
		}
		select { // try to connect again and again, because the server does not report when it is ready
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// Kill kills all processes of the server with SIGKILL, as if the machine had lost power. If the server does not run,
// Kill does nothing.
func (s *Server) Kill() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	var errs []error
	for _, pid := range append([]int{s.cmd.Process.Pid}, children(s.cmd.Process.Pid)...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill PostgreSQL: %w", err))
		}
	}
	_ = s.cmd.Wait() // ignore the error of Wait: the process was killed
	s.cmd = nil
	return errors.Join(errs...)
}

// Stop stops the server as an administrator would: the server first closes all connections.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil { // SIGINT requests a fast shutdown
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	err := s.cmd.Wait()
	s.cmd = nil
	if err != nil {
		return fmt.Errorf("PostgreSQL stopped: %w\n%s", err, s.log.String())
	}
	return nil
}

// children lists the processes that a process has started. A signal to one process group would not reach all processes
// of a PostgreSQL server, because the server puts each of its processes into a process group of its own.
func children(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // ignore the error: Glob fails only for an invalid pattern
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			continue
		}
		// The name of the program is in parentheses and may contain any character, so begin after the last
		// parenthesis:
		// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// clockTick is the unit of the times in the file /proc/PID/stat on Linux:
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
const clockTick = time.Second / 100

// CPU returns the processor time that all processes of the server have used since the server's start. CPU includes the
// time of processes that have ended.
func (s *Server) CPU() (time.Duration, error) {
	var ticks int64
	for i, pid := range append([]int{s.cmd.Process.Pid}, children(s.cmd.Process.Pid)...) {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if errors.Is(err, fs.ErrNotExist) { // a child process has ended, so its time is now included in the first process's time
			continue
		}
		if err != nil {
			return 0, err
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		last := 13 // the fields utime and stime of the process
		if i == 0 {
			last = 15 // for the first process, also the fields cutime and cstime: times of child processes that have ended
		}
		for _, f := range fields[11:last] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, err
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * clockTick, nil
}

// DSN returns the connection string of a database.
func (s *Server) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, Password), Path: "/" + database,
		Host: s.address, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Create makes a new database and returns its connection string. If template is not empty, the new database is a copy
// of the database template.
func (s *Server) Create(ctx context.Context, template string) (name, dsn string, err error) {
	name = fmt.Sprintf("test%d", s.count.Add(1))
	query := "CREATE DATABASE " + name
	if template != "" {
		query += " TEMPLATE " + template + " STRATEGY file_copy"
	}
	return name, s.DSN(name), s.Exec(ctx, "postgres", query)
}

// Exec runs statements in a database.
func (s *Server) Exec(ctx context.Context, database string, statements ...string) error {
	return s.do(ctx, database, func(ctx context.Context, conn *pgx.Conn) error {
		for _, one := range statements {
			if _, err := conn.Exec(ctx, one); err != nil {
				return fmt.Errorf("%s: %w", one, err)
			}
		}
		return nil
	})
}

// Query runs a query and returns the first column of each row as a string.
func (s *Server) Query(ctx context.Context, database, query string) (values []string, err error) {
	err = s.do(ctx, database, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query)
		if err != nil {
			return err
		}
		values, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return values, err
}

func (s *Server) do(ctx context.Context, database string, use func(context.Context, *pgx.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return use(ctx, conn)
}
