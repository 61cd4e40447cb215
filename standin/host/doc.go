// Package host manages the listeners, the connections and the running requests of a stand-in. It can pause, cut and
// restart them.
//
// A stand-in is an http.Handler that registers every request with Enter:
//
//	func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
//		cut, down := s.host.Enter()
//		defer s.host.Leave()
//		…
//
// cut is closed when the request's connection must be dropped without a response, so every wait in a handler must also
// end when cut is closed. All methods are safe for concurrent use. The stand-in may hold its own lock during a call,
// except for Serve, Pause and Close, which block.
package host
