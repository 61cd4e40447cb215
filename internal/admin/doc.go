// Package admin serves the daemon's admin address to operators and their tools: /healthz and /readyz for probes, /metrics for
// Prometheus, and the status page. It knows only the values that its Options hand it, no platform and no agent.
//
// With a token, everything but the status codes of the probes needs it: as "Authorization: Bearer …", or as the cookie that
// the login form sets. The probes answer without it, since what probes a machine often can't keep a secret, but then they name
// nothing. Without a token the address is a loopback one (internal/config sees to that), and requests for another host name
// are refused: a web page in a browser on this machine could otherwise read the answers under a name that points here
// (DNS rebinding).
package admin
