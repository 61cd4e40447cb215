// Package metrics counts what the daemon does and serves the figures to Prometheus. The packages that do the work
// declare what they report (preview.Observer, gateway.Observer, the hooks of the store). They don't import this
// package. Labels name only endpoints, models, kinds of calls and reasons. They never name a person, a conversation
// or a message, because the number of these has no limit.
//
// docs/operations.md lists all metrics. Names and units follow https://prometheus.io/docs/practices/naming/.
package metrics
