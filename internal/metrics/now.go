package metrics

import "github.com/prometheus/client_golang/prometheus"

// Now is the present state of the daemon.
type Now struct {
	Conversations int // in which something waits or runs
	Running       int // turns
	Messages      int // that wait for their turn
	Endpoints     []EndpointNow
}

// EndpointNow is the present state of an endpoint.
type EndpointNow struct {
	Name  string
	Up    bool // it receives messages
	Calls int  // that wait for the rate limits
}

// Watch adds the metrics of the daemon's present state, which look asks for at each reading. It may be called once.
func (m *Metrics) Watch(look func() Now) {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, labels, nil)
	}
	m.registry.MustRegister(now{
		look:          look,
		conversations: gauge("conversations_active", "Conversations in which something waits or runs."),
		running:       gauge("turns_running", "Turns that run or whose reply is being delivered."),
		messages:      gauge("messages_waiting", "Messages that wait for their turn."),
		up:            gauge("endpoint_up", "Whether an endpoint is connected and receives messages.", labelEndpoint),
		calls:         gauge("calls_waiting", "Calls that wait for the platform's rate limits.", labelEndpoint),
	})
}

// now is the collector of Watch.
type now struct {
	look                                        func() Now
	conversations, running, messages, up, calls *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (n now) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{n.conversations, n.running, n.messages, n.up, n.calls} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (n now) Collect(to chan<- prometheus.Metric) {
	is := n.look()
	tell := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	tell(n.conversations, is.Conversations)
	tell(n.running, is.Running)
	tell(n.messages, is.Messages)
	for _, e := range is.Endpoints {
		up := 0
		if e.Up {
			up = 1
		}
		tell(n.up, up, e.Name)
		tell(n.calls, e.Calls, e.Name)
	}
}
