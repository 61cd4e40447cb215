package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"telex/internal/chat"
)

// channel is the name of the PostgreSQL channel for signals to all replicas. Each replica also listens to a channel of
// its own.
const channel = "telex"

const (
	// If no signal arrives for the time checkEvery, Listen pings the server. The server must respond to the ping within
	// the time checkWithin. Together, checkEvery and checkWithin are shorter than the 15 seconds of keepAlive.
	checkEvery  = 2 * time.Second
	checkWithin = 3 * time.Second
	// keepAlive makes the server close the connection about 15 seconds after the network has failed. With PostgreSQL's
	// default settings, the server would notice a failure of the network much later.
	keepAlive = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000"
)

// signal is a signal that a transaction sends to other replicas after its commit.
type signal struct {
	to   chat.ReplicaID // the replica that gets the signal; 0: all replicas but the sender
	what chat.Signal
}

// signal makes the transaction send a signal after its commit. The parameter to is the replica that gets the signal; if
// it is 0, all other replicas get the signal.
func (t *tx) signal(to chat.ReplicaID, what chat.Signal) {
	t.signals = append(t.signals, signal{to, what})
}

func channelOf(id chat.ReplicaID) string { return channel + "_" + strconv.FormatInt(int64(id), 10) }

func (s signal) channel() string {
	if s.to == 0 {
		return channel
	}
	return channelOf(s.to)
}

func (s signal) payload(from chat.ReplicaID) string { return fmt.Sprintf("%d %d", s.what, from) }

// Listen calls the function heard for each signal to this replica. For the signals, Listen uses a connection of its
// own. As soon as this connection receives signals, Listen calls the function heard with chat.SignalAll, because this
// replica may have missed earlier signals. Listen returns an error when the connection is lost. Listen returns ctx's
// error when ctx has ended.
func (s *Store) Listen(ctx context.Context, heard func(chat.Signal)) error {
	self := chat.ReplicaID(s.self.Load())
	if self == 0 {
		return chat.ErrLost
	}
	conn, err := s.listening(ctx, self)
	if err == nil {
		heard(chat.SignalAll)
		err = listen(ctx, conn, func(n *pgconn.Notification) {
			var what chat.Signal
			var from chat.ReplicaID
			if _, err := fmt.Sscanf(n.Payload, "%d %d", &what, &from); err != nil {
				heard(chat.SignalAll) // another program has sent the signal, in another format
			} else if from != self || n.Channel != channel {
				heard(what)
			}
		})
		hangUp(ctx, conn)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(ctx, "listen for signals", err)
}

// listening returns a new connection that receives the signals to a replica.
func (s *Store) listening(ctx context.Context, self chat.ReplicaID) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, keepAlive+"; LISTEN "+channel+"; LISTEN "+channelOf(self)); err != nil {
		hangUp(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// listen passes signals to the function arrived. listen returns when the connection is lost or ctx ends. listen always
// waits for data on the connection, so it notices at once when the server closes the connection.
func listen(ctx context.Context, conn *pgx.Conn, arrived func(*pgconn.Notification)) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, checkEvery)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		if err == nil {
			arrived(n)
			continue
		}
		if ctx.Err() != nil || conn.IsClosed() {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, checkWithin)
		err = conn.Ping(asking)
		cancel()
		if err != nil {
			return err
		}
	}
}

// hangUp closes a connection, which releases its locks.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // ignore the error: a broken connection can't be closed gracefully
}
