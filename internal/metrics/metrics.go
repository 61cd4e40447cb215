package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// These are the names of the labels.
const (
	labelEndpoint = "endpoint"
	labelModel    = "model"
	labelReason   = "reason"
	labelKind     = "kind"
	labelOp       = "op"
	labelOutcome  = "outcome"
	labelClass    = "class"
)

// Metrics contains all metrics of one daemon. The methods of Metrics are safe for concurrent use and don't block.
type Metrics struct {
	registry *prometheus.Registry

	turns      *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	calls      *prometheus.CounterVec
	deltas     *prometheus.CounterVec
	firstToken *prometheus.HistogramVec
	answer     *prometheus.HistogramVec
	store      *prometheus.HistogramVec
	platform   platform
}

// New returns the metrics of a daemon. version is the daemon's version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), platform: newPlatform()}
	m.turns = counters("turns_total", "Turns that ended, by the reason for which the model's work ended.", labelReason)
	m.tokens = counters("tokens_total", "Tokens as the providers counted them. The kind cached is part of prompt, reasoning is part of completion.", labelModel, labelKind)
	m.calls = counters("model_calls_total", "Requests to models, by outcome: ok, cancelled, or the kind of failure.", labelModel, labelOutcome)
	m.deltas = counters("model_deltas_total", "Pieces of answers that models streamed.", labelModel)
	// A provider takes between a fraction of a second and 2 minutes from a request to the first piece of the answer. 2
	// minutes is the default of limits.first_token.
	m.firstToken = histograms("model_first_token_seconds", "Time from a request to the first piece of its answer.",
		[]float64{.1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120}, labelModel)
	m.answer = histograms("model_answer_seconds", "Time from a request to the end of its answer.",
		[]float64{.25, .5, 1, 2, 4, 8, 15, 30, 60, 120, 300}, labelModel)
	m.store = histograms("store_seconds", "Time of one transaction of the store with its wait and its sync, by kind: read, write, accept or erase.",
		[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}, labelKind)
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "build_info", Help: "Always 1; the version is in the label."}, []string{"version"})
	built.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.turns, m.tokens, m.calls, m.deltas, m.firstToken, m.answer, m.store, built,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.platform.all()...)
	return m
}

// prefix is the beginning of the name of every metric of telex.
const prefix = "telex_"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
}

// Handler returns a handler that serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gatherer returns the metrics to readers other than Prometheus.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Tokens contains the numbers of tokens that a model used for a turn.
type Tokens struct{ Prompt, Cached, Completion, Reasoning int }

// TurnEnded counts a turn that ended for the given reason.
func (m *Metrics) TurnEnded(reason string) { m.turns.WithLabelValues(reason).Inc() }

// Used counts the tokens that a model used for a turn.
func (m *Metrics) Used(model string, t Tokens) {
	for kind, n := range map[string]int{"prompt": t.Prompt, "cached": t.Cached, "completion": t.Completion, "reasoning": t.Reasoning} {
		m.tokens.WithLabelValues(model, kind).Add(float64(max(0, n)))
	}
}

// Stored records the duration of a transaction of the store.
func (m *Metrics) Stored(kind string, took time.Duration) {
	m.store.WithLabelValues(kind).Observe(took.Seconds())
}

// Model returns the metrics of the model with this name.
func (m *Metrics) Model(name string) *Model {
	return &Model{
		calls: m.calls.MustCurryWith(prometheus.Labels{labelModel: name}), deltas: m.deltas.WithLabelValues(name),
		firstToken: m.firstToken.WithLabelValues(name), answer: m.answer.WithLabelValues(name),
	}
}

// Model contains the metrics of one model.
type Model struct {
	calls              *prometheus.CounterVec
	deltas             prometheus.Counter
	firstToken, answer prometheus.Observer
}

// Delta counts a piece of an answer. Delta is fast, because it only increments an atomic counter.
func (m *Model) Delta() { m.deltas.Inc() }

// Began records the time from a request to the first piece of the model's answer.
func (m *Model) Began(after time.Duration) { m.firstToken.Observe(after.Seconds()) }

// Ended records the end of a request to a model. Ended records the duration only for the outcome Answered.
func (m *Model) Ended(outcome string, after time.Duration) {
	m.calls.WithLabelValues(outcome).Inc()
	if outcome == Answered {
		m.answer.Observe(after.Seconds())
	}
}

// Answered is the outcome of a request or call that succeeded.
const Answered = "ok"
