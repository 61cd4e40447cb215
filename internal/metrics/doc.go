// Package metrics counts what the daemon does and serves the figures to Prometheus. The packages that do the work declare what
// they tell (preview.Observer, gateway.Observer, the hooks of the store), in terms of their own; this package knows none of
// them. Labels name endpoints, models, kinds of calls and reasons only: never a person, a conversation or a message, whose
// number has no bound.
//
// docs/operations.md lists all metrics. Names and units follow https://prometheus.io/docs/practices/naming/.
package metrics
