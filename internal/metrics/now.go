package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Now contains figures about the current state of the daemon.
type Now struct {
	Conversations int // number of conversations in which a turn runs or messages wait
	Running       int // number of running turns
	Messages      int // number of messages that wait for their turn
	Endpoints     []EndpointNow
	Replica       *ReplicaNow // nil: the store can't be shared
}

// ReplicaNow contains figures about the current state of a daemon that shares its store with other daemons.
type ReplicaNow struct {
	LeaseAge  time.Duration // time since the daemon last renewed its lease
	Holds     bool          // the daemon has a valid lease
	Alive     int           // number of replicas with a lease
	Chats     int           // number of chats that this daemon owns
	Forwarded int64         // number of messages that another daemon received and this daemon answers
	Lost      int64         // number of leases that the daemon has lost
	Receives  map[string]bool
}

// EndpointNow contains figures about the current state of an endpoint.
type EndpointNow struct {
	Name  string
	Up    bool // the endpoint receives messages
	Calls int  // number of calls that wait for the rate limits
}

// Watch adds metrics of the daemon's current state. Whenever somebody reads the metrics, Watch's collector calls the
// function look for the current state. Watch may be called only once.
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

// now is the Prometheus collector that Watch registers.
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
