// Package host manages the listeners, the connections and the running requests of a stand-in. The package can make a
// stand-in unavailable, cut connections, and imitate a restart.
//
// A stand-in is an http.Handler that registers every request with Enter:
//
//	func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
//		cut, down := s.host.Enter()
//		defer s.host.Leave()
//		…
//
// The channel cut is closed when the request's connection must be dropped without a response. Every wait in a handler
// must therefore also end when cut is closed. All methods are safe for concurrent use. The stand-in may hold its own
// lock while it calls a method. Only Serve, Pause and Close must not be called while the stand-in holds its lock,
// because they block.
package host
