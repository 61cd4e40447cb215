// Package metrics counts what the daemon does and serves the figures to Prometheus. The packages that do the work
// declare interfaces and hooks through which they report (preview.Observer, gateway.Observer, the hooks of the store).
// So the packages that do the work don't import package metrics. Labels contain only endpoints, models, kinds of calls
// and reasons. Labels never contain a person, a conversation or a message, because each value would add a time series,
// without limit.
//
// docs/operations.md lists all metrics. Names and units follow https://prometheus.io/docs/practices/naming/.
package metrics
