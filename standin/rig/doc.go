// Package rig is what the stand-ins of chat platforms do alike, whatever the platform: they serve listeners,
// restart, lose connections, have outages, record calls, let faults hit them, tell watchers, and are controlled
// over HTTP.
//
// A stand-in embeds a Rig and gives it a Platform: how a request becomes a call, what a call does, and the few
// faults that only the platform has. Everything is guarded by one mutex, which is the stand-in's.
//
// A method of a platform is a list of rules in the platform's order. It refuses a call by a panic with the platform's
// error, which Run recovers: RefuseIf is one rule. A rule comes before what the method changes.
//
// # Control over HTTP
//
// Bodies and answers are JSON; an error is {"error": "…"} with status 400, 403 or 404. Unknown fields are errors.
// Browsers may call only from the same origin. These controls are there on every platform; the package of each
// lists its own.
//
//	POST   /control/fault    {"method":"…","nth":2,"times":1,"action":"cut_after"} → {"id":1}
//	                         fields: Fault of package fault, as far as the platform has them
//	DELETE /control/fault    removes all faults and ends an outage
//	POST   /control/outage   {"kind":"cut","for_ms":10000}        from now on: refuse, cut, 5xx or hang
//	GET    /control/paused   ?wait=10: waits up to so many seconds for a held call
//	POST   /control/resume   {"id":1,"drop":false}, or {} for all → {"resumed":1}
//	POST   /control/restart  {"down_ms":500}                      cuts all connections
//	POST   /control/reset    {}                                   forgets everything
//	GET    /control/calls    ?last=20                             list of Call
//	GET    /control/stats    Stats
//	GET    /control/events   server-sent events, each an Event
//
// # Killing a client at an exact moment
//
// Add a fault with action pause_before, pause_after or pause_answered for the method in question, wait for the call
// with GET /control/paused?wait=30, kill -9 the client, and let go of the call: POST /control/resume with
// {"drop":true} ends it where it is held, so that before its effect it has none; with {} it goes on, as a request
// does that had left when the client died. In Go, Fault.Do is called at that moment and may kill the client itself.
//
// During an outage of kind refuse only the connection that asked for it, and those opened before to the control API,
// are served; all calls in flight, and all WebSockets, are cut.
package rig
