// Package host is the machine that a stand-in runs on: its listeners, its connections and the requests in
// flight, and what can happen to them.
//
// A stand-in is an http.Handler that lets every request in with Enter:
//
//	func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
//		cut, down := s.host.Enter()
//		defer s.host.Leave()
//		…
//
// cut is closed when the request's connection is to be dropped without an answer; whatever waits for something
// waits for that too. A Host may be called from any goroutine, also with the stand-in's own lock held, but for
// Serve, Pause and Close, which wait.
package host
