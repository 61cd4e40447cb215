package fault

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kinds of outages.
const (
	// OutageRefuse: nobody listens at the address, so that a client knows that
	// its call was never sent. A listener that is not TCP closes what it accepts.
	OutageRefuse = "refuse"
	// OutageCut: each call loses its connection before it takes effect.
	OutageCut = "cut"
	// OutageError: each call is answered with Status, by what stands in front.
	OutageError = "5xx"
	// OutageHang: no call is ever answered, not even once the outage is over.
	OutageHang = "hang"
)

// Outage is a time in which the API does nothing.
type Outage struct {
	Kind string `json:"kind"`
	// For is how long it lasts from now on; in JSON it is for_ms.
	For    time.Duration `json:"-"`
	ForMS  int           `json:"for_ms"`
	Status int           `json:"status"` // of a 5xx; 502 when 0.
}

// Effect is what an outage does to each call: the action of a fault, with the status that it answers with if any,
// and how long. The error says why the outage makes no sense.
func (o Outage) Effect() (action string, status int, lasts time.Duration, err error) {
	lasts = Lasts(o.For, o.ForMS)
	switch o.Kind {
	case OutageRefuse, OutageCut:
		action = CutBefore
	case OutageError:
		action, status = Status, cmp.Or(o.Status, http.StatusBadGateway)
	case OutageHang:
		action = Hang
	default:
		return "", 0, 0, fmt.Errorf("unknown kind of outage %q", o.Kind)
	}
	switch {
	case lasts <= 0:
		return "", 0, 0, errors.New("outage: it must last some time")
	case status != 0 && (status < 500 || status > 599):
		return "", 0, 0, fmt.Errorf("outage: status %d is not a 5xx", status)
	}
	return action, status, lasts, nil
}

// Lasts is a time that Go code gives as it is, and JSON in milliseconds.
func Lasts(d time.Duration, ms int) time.Duration {
	return cmp.Or(d, time.Duration(ms)*time.Millisecond)
}
