package discord

import (
	"net"
	"time"

	"telex/standin/fault"
)

// Kinds of outages; the package fault says what they are.
const (
	OutageRefuse = fault.OutageRefuse
	OutageCut    = fault.OutageCut
	OutageError  = fault.OutageError
	OutageHang   = fault.OutageHang
)

// Outage is a time in which the API does nothing.
type Outage = fault.Outage

// Outage begins an outage: all connections and calls in flight are cut, and every
// call, and every connection to the gateway, meets it until it is over or ClearFaults ends it. It goes
// before all other faults, which do not count what it hits. It panics on an outage
// that makes no sense.
func (s *Server) Outage(o Outage) {
	if err := s.outage(o, nil); err != nil {
		panic("discord stand-in: " + err.Error())
	}
}

// outage spares the connection that asked for it. The error says why o makes no sense.
func (s *Server) outage(o Outage, spare net.Conn) error {
	action, status, lasts, err := o.Effect()
	if err != nil {
		return err
	}
	s.mu.Lock()
	until := time.Now().Add(lasts)
	s.faults.Shadow(Fault{Action: action, Status: status}, until)
	if o.Kind == OutageRefuse {
		s.host.Refuse(until)
	}
	s.publish(Event{Kind: "outage"})
	conns := append(s.host.Cut(spare), s.detachAll()...)
	s.mu.Unlock()
	s.host.Drop(conns)
	return nil
}
