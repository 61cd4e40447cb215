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

// channel is the PostgreSQL channel for signals to all replicas. Each replica also listens to a channel of its own.
const channel = "telex"

const (
	// checkEvery is how often Listen pings the server. checkWithin is how long the server's response may take. The sum
	// of checkEvery and checkWithin is shorter than the 15 seconds of keepAlive.
	checkEvery  = 2 * time.Second
	checkWithin = 3 * time.Second
	// keepAlive makes the server close the connection about 15 seconds after the network has failed. By default, the
	// server would notice much later.
	keepAlive = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000"
)

// signal is a signal to other replicas, which is sent after a transaction.
type signal struct {
	to   chat.ReplicaID // 0: all replicas but the sender
	what chat.Signal
}

// signal makes the transaction send a signal to one replica, or to all others, after its commit.
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

// Listen calls heard for each signal to this replica. Listen uses a connection of its own. When no later signal can be
// missed any more, Listen first calls heard with chat.SignalAll. Listen returns an error when the connection is lost.
// Listen returns ctx's error when ctx has ended.
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
				heard(chat.SignalAll) // another program uses the channel, so the text has another format
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

// listening returns a connection on which the signals to a replica arrive.
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

// listen passes signals to arrived. listen returns when the connection is lost or ctx ends. listen reads from the
// connection all the time, so it notices at once when the server ends.
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
	_ = conn.Close(ctx) // a broken connection can't be closed gracefully
}
