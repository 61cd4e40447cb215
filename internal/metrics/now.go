package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Now is the present state of the daemon.
type Now struct {
	Conversations int // in which something waits or runs
	Running       int // turns
	Messages      int // that wait for their turn
	Endpoints     []EndpointNow
	Replica       *ReplicaNow // nil: the daemon shares its store with no other one
}

// ReplicaNow is the present state of a daemon that shares its store with others.
type ReplicaNow struct {
	LeaseAge  time.Duration // since the newest renewal
	Holds     bool          // the lease
	Alive     int           // replicas with a lease
	Chats     int           // that this daemon owns
	Forwarded int64         // messages that another one received and this one answers
	Lost      int64         // leases
	Receives  map[string]bool
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
		replica:       newReplica(),
		calls:         gauge("calls_waiting", "Calls that wait for the platform's rate limits.", labelEndpoint),
	})
}

// now is the collector of Watch.
type now struct {
	look                                        func() Now
	conversations, running, messages, up, calls *prometheus.Desc
	replica                                     replica
}

// Describe implements prometheus.Collector.
func (n now) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{n.conversations, n.running, n.messages, n.up, n.calls} {
		to <- d
	}
	n.replica.describe(to)
}

// Collect implements prometheus.Collector.
func (n now) Collect(to chan<- prometheus.Metric) {
	is := n.look()
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	tell(n.conversations, float64(is.Conversations))
	tell(n.running, float64(is.Running))
	tell(n.messages, float64(is.Messages))
	for _, e := range is.Endpoints {
		tell(n.up, oneIf(e.Up), e.Name)
		tell(n.calls, float64(e.Calls), e.Name)
	}
	if is.Replica != nil {
		n.replica.collect(*is.Replica, to)
	}
}
