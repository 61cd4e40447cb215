// Package memnet is a network inside the process: a listener and the
// connections dialled to it, without sockets.
//
// A server and its clients that speak over memnet can run inside a testing/synctest bubble, where real sockets can't be
// used. Every wait is on a sync.Cond or a channel, and every deadline is a timer of package time. So virtual time
// passes while both sides wait.
//
//	client := &http.Client{Transport: memnet.Serve(t, srv).Transport(t)}
//
// Connections are buffered like sockets (see BufferSize), so a write does not wait for the reader. A server notices a
// client that went away, and may cut a connection in the middle of an answer.
package memnet
