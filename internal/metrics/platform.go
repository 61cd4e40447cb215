package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telex/internal/chat"
)

// platform contains the metrics of all endpoints.
type platform struct {
	calls     *prometheus.CounterVec
	took      *prometheus.HistogramVec
	limited   *prometheus.CounterVec
	waits     *prometheus.HistogramVec
	staleness *prometheus.HistogramVec
	final     *prometheus.HistogramVec
	resumed   *prometheus.CounterVec
}

func newPlatform() platform {
	// These histogram buckets are for the delay until people see new text. The delay is usually one or two seconds. The
	// delay until people see new text is much longer only if the platform's limits are low.
	seen := []float64{.1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 120}
	return platform{
		calls: counters("platform_calls_total", "Calls that show replies, by kind and outcome: ok, or the kind of failure.", labelEndpoint, labelOp, labelOutcome),
		took: histograms("platform_call_seconds", "Time of a call until the platform answered or it failed.",
			[]float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, labelEndpoint, labelOp),
		limited: counters("platform_rate_limited_total", "Calls that the platform refused for its rate limits (HTTP 429).", labelEndpoint, labelOp),
		waits: histograms("budget_wait_seconds", "Time that a call waited until the rate limits allowed it, or it was given up.",
			[]float64{.001, .05, .1, .25, .5, 1, 2, 5, 15, 60, 300}, labelEndpoint, labelClass),
		staleness: histograms("visible_staleness_seconds", "Age of the oldest text that a call made visible.", seen, labelEndpoint),
		final:     histograms("final_seconds", "Time from the end of an answer until its final was visible.", seen, labelEndpoint),
		resumed:   counters("replies_recovered_total", "Replies of an earlier process that this one continued.", labelEndpoint),
	}
}

func (p platform) all() []prometheus.Collector {
	return []prometheus.Collector{p.calls, p.took, p.limited, p.waits, p.staleness, p.final, p.resumed}
}

// Endpoint returns the metrics of the endpoint with this name.
func (m *Metrics) Endpoint(name string) *Endpoint {
	of, p := prometheus.Labels{labelEndpoint: name}, m.platform
	limited := p.limited.MustCurryWith(of)
	for _, op := range []chat.Op{chat.OpSend, chat.OpEdit} { // start at 0, so that alerts detect the first increase
		limited.WithLabelValues(opName(op))
	}
	return &Endpoint{
		calls: p.calls.MustCurryWith(of), took: p.took.MustCurryWith(of), limited: limited, waits: p.waits.MustCurryWith(of),
		staleness: p.staleness.WithLabelValues(name), final: p.final.WithLabelValues(name), resumed: p.resumed.WithLabelValues(name),
	}
}

// Endpoint contains the metrics of one endpoint. Endpoint implements gateway.Observer.
type Endpoint struct {
	calls, limited   *prometheus.CounterVec
	took, waits      prometheus.ObserverVec
	staleness, final prometheus.Observer
	resumed          prometheus.Counter
}

// Called implements preview.Observer.
func (e *Endpoint) Called(op chat.Op, took time.Duration, err error) {
	name, outcome := opName(op), Answered
	if err != nil {
		kind := chat.AsSendError(err).Kind
		outcome = strings.ReplaceAll(kind.String(), " ", "_")
		if kind == chat.RateLimited {
			e.limited.WithLabelValues(name).Inc()
		}
	}
	e.calls.WithLabelValues(name, outcome).Inc()
	e.took.WithLabelValues(name).Observe(took.Seconds())
}

// Waited implements preview.Observer.
func (e *Endpoint) Waited(class chat.Class, d time.Duration) {
	e.waits.WithLabelValues(class.String()).Observe(d.Seconds())
}

// Shown implements preview.Observer.
func (e *Endpoint) Shown(age time.Duration) { e.staleness.Observe(age.Seconds()) }

// Finished implements preview.Observer.
func (e *Endpoint) Finished(after time.Duration) { e.final.Observe(after.Seconds()) }

// Resumed implements gateway.Observer.
func (e *Endpoint) Resumed() { e.resumed.Inc() }

// opName returns the value of the label op for one kind of call.
func opName(op chat.Op) string {
	switch op {
	case chat.OpSend:
		return "send"
	case chat.OpEdit:
		return "edit"
	case chat.OpDelete:
		return "delete"
	case chat.OpTyping:
		return "typing"
	case chat.OpDraft:
		return "draft"
	case chat.OpStart:
		return "stream_start"
	case chat.OpAppend:
		return "stream_append"
	case chat.OpStop:
		return "stream_stop"
	case chat.OpFind:
		return "find"
	case chat.OpFile:
		return "file"
	case chat.OpPane:
		return "pane"
	}
	return "other"
}
