// Package memnet is a network inside the process: a listener and the
// connections dialled to it, without sockets.
//
// A server and its clients that use memnet can run inside a testing/synctest bubble, in which tests can't use real
// sockets. memnet waits only on a sync.Cond or a channel, and uses timers of package time for deadlines. Therefore the
// bubble's virtual time passes while the client and the server wait.
//
//	client := &http.Client{Transport: memnet.Serve(t, srv).Transport(t)}
//
// Connections are buffered like sockets (see BufferSize), so a write usually does not wait for the reader. As with
// sockets, a server notices when a client disconnects, and can cut a connection in the middle of an answer.
package memnet
