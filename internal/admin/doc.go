// Package admin serves the daemon's admin address to operators and their tools: /healthz and /readyz for probes,
// /metrics for Prometheus, and the status page. The package shows only the values in its Options, and imports neither
// platforms nor agent.
//
// If a token is configured, a request must contain the token in the header Authorization, as a bearer token, or must contain
// the cookie that the login form sets. /healthz and /readyz respond without a token, because a service manager or monitoring
// tool that calls them often can't keep a secret. Without a token, the response of /healthz does not say what hangs, and the
// response of /readyz does not list the endpoints.
//
// If no token is configured, internal/config allows only a loopback address, and the server refuses requests for other
// host names. Without this refusal, a foreign web page could let a host name of its own point to this machine, and
// then read the responses in a browser on this machine (DNS rebinding).
package admin
