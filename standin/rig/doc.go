// Package rig implements the common part of all stand-ins of chat platforms: it serves listeners, imitates restarts,
// lost connections and outages, records calls, applies faults, sends events to watchers, and offers control over HTTP.
//
// A stand-in embeds a Rig and passes a Platform to it. The Platform contains functions that turn a request into a call,
// execute a call, and apply the faults that only this platform has. The stand-in's mutex guards all state.
//
// A method of a platform's API checks a list of rules, in the same order as the real platform. RefuseIf checks one
// rule. If a call breaks the rule, RefuseIf panics with the platform's error, and Run recovers this panic and returns
// the error. A method checks all rules before it changes any data.
//
// # Control over HTTP
//
// The bodies of requests and responses are JSON. An error has status 400, 403 or 404, and a body with the field
// "error". A request with an unknown field is an error. The control API refuses requests from web pages of another
// origin. Every stand-in has the following controls. Each stand-in's package documents its additional controls.
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
// Add a fault with action pause_before, pause_after or pause_answered for the method. Wait for the call with GET
// /control/paused?wait=30, kill the client with kill -9, and release the call with POST /control/resume. If this
// request to /control/resume contains {"drop":true}, the call ends at the moment at which it is held. A call that was
// held before its effect therefore has no effect. If the request to /control/resume contains {}, the call continues,
// like a request that the client sent completely before it died. In Go, the server calls Fault.Do while the call is
// held, and Do may kill the client itself.
//
// During an outage of kind refuse, the server serves only the connection that started the outage and older connections
// to the control API. The outage cuts all running calls and all WebSockets.
package rig
