// Package admin serves the daemon's admin address to operators and their tools: /healthz and /readyz for probes,
// /metrics for Prometheus, and the status page. It knows only the values in its Options. It imports neither platforms
// nor agent.
//
// If a token is configured, a request must have it: as "Authorization: Bearer …", or as the cookie that the login
// form sets. Only the status codes of the probes need no token, because a program that probes often can't keep a
// secret. Such an answer names no endpoint and no cause.
//
// Without a token, internal/config allows only a loopback address. Requests for another host name are then refused.
// Otherwise a web page in a browser on this machine could read the answers under a name that points to this machine
// (DNS rebinding).
package admin
