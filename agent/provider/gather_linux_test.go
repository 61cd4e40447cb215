package provider

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// connected returns both ends of a connection. The reader's end is set up as in the client of a model.
func connected(t *testing.T) (writer, reader net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if writer, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	return writer, gather(c)
}

// A fast stream is read completely, with fewer reads than it has pieces, and its end is reported.
func TestGather(t *testing.T) {
	t.Parallel()
	const pieces = 400
	writer, reader := connected(t)
	var sent bytes.Buffer
	go func() {
		defer func() { _ = writer.Close() }()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n := range pieces {
			<-tick.C
			piece := bytes.Repeat([]byte{byte(n)}, 100)
			sent.Write(piece)
			if _, err := writer.Write(piece); err != nil {
				return
			}
		}
	}()
	var got bytes.Buffer
	reads, buffer := 0, make([]byte, 1000)
	for {
		n, err := reader.Read(buffer)
		got.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		reads++
	}
	if !bytes.Equal(got.Bytes(), sent.Bytes()) { // the writer has finished, because Read has returned the end of the stream
		t.Errorf("%d bytes arrived, %d were sent", got.Len(), sent.Len())
	}
	if reads > pieces/2 {
		t.Errorf("%d pieces took %d reads", pieces, reads)
	}
}

// The test sends each byte only after the reader has received the previous one, so a byte that is held back would block the
// test. After a pause of the stream, too, the reader must get each byte at once.
func TestGatherDeliversEachByte(t *testing.T) {
	t.Parallel()
	writer, reader := connected(t)
	pause := time.NewTicker((gatherIdle + 2) * gatherEvery)
	defer pause.Stop()
	b := make([]byte, 10)
	for n := range 3 * gatherAfter {
		if n == 2*gatherAfter {
			go func() {
				<-pause.C
				_, _ = writer.Write([]byte{byte(n)}) // if the write fails, Read gets no byte
			}()
		} else if _, err := writer.Write([]byte{byte(n)}); err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Read(b); got != 1 || err != nil || b[0] != byte(n) {
			t.Fatalf("byte %d: got %d bytes, %d, %v", n, got, b[0], err)
		}
	}
}

// If the connection is closed while a reader waits for the timer, the wait ends.
func TestGatherEndsWhenItIsClosed(t *testing.T) {
	t.Parallel()
	writer, reader := connected(t)
	b := make([]byte, 10)
	for range gatherAfter + 2 {
		if _, err := writer.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error)
	go func() {
		_, err := reader.Read(b)
		ended <- err
	}()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the reader got %v", err)
	}
}
