// Package memnet is a network inside the process: a listener and the
// connections dialled to it, without sockets.
//
// A server and its clients that speak over memnet can run inside a
// testing/synctest bubble, where real sockets can't: every wait is a
// sync.Cond or a channel, every deadline a timer of package time, so virtual
// time passes while both sides wait.
//
//	client := &http.Client{Transport: memnet.Serve(t, srv).Transport(t)}
//
// Connections are buffered like a socket (see BufferSize): a write does not
// wait for the reader, so a server notices a client that went away and may cut
// a connection in the middle of an answer.
package memnet
