// Package metrics counts what the daemon does and serves the figures to Prometheus. The packages that do the work
// declare interfaces and hooks, and report through them (preview.Observer, gateway.Observer, the hooks of the store).
// So the packages that do the work don't import package metrics. The labels of the metrics contain only endpoints,
// models, kinds of calls and reasons. Labels never contain a person, a conversation or a message, because each new
// value would add a time series, without limit.
//
// docs/operations.md lists all metrics. Names and units of the metrics follow
// https://prometheus.io/docs/practices/naming/.
package metrics
