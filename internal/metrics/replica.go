package metrics

import "github.com/prometheus/client_golang/prometheus"

// replica contains the metrics of a daemon that shares its store with other daemons.
type replica struct {
	leaseAge, holds, alive, chats, receives, forwarded, lost *prometheus.Desc
}

func newReplica() replica {
	about := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+"replica_"+name, help, labels, nil)
	}
	return replica{
		leaseAge:  about("lease_age_seconds", "Time since this daemon renewed its lease on the store; it is over after 5 seconds."),
		holds:     about("lease_held", "Whether this daemon holds its lease, without which it answers nobody."),
		alive:     about("peers", "Daemons that share the store and have a lease, this one included, as it saw them last."),
		chats:     about("chats_owned", "Chats in which this daemon answers."),
		receives:  about("receives", "Whether this daemon receives the messages of an endpoint.", labelEndpoint),
		forwarded: about("forwarded_messages_total", "Messages that another daemon received and this one answers."),
		lost:      about("leases_lost_total", "Leases that this daemon lost."),
	}
}

func (r replica) describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.leaseAge, r.holds, r.alive, r.chats, r.receives, r.forwarded, r.lost} {
		to <- d
	}
}

func (r replica) collect(is ReplicaNow, to chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	tell(r.leaseAge, prometheus.GaugeValue, is.LeaseAge.Seconds())
	tell(r.holds, prometheus.GaugeValue, oneIf(is.Holds))
	tell(r.alive, prometheus.GaugeValue, float64(is.Alive))
	tell(r.chats, prometheus.GaugeValue, float64(is.Chats))
	tell(r.forwarded, prometheus.CounterValue, float64(is.Forwarded))
	tell(r.lost, prometheus.CounterValue, float64(is.Lost))
	for e, receives := range is.Receives {
		tell(r.receives, prometheus.GaugeValue, oneIf(receives), e)
	}
}

// oneIf returns 1 for true and 0 for false, because a Prometheus metric is a number.
func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
