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
	// OutageRefuse means that connections to the stand-in are refused. A client whose connection is refused knows that its
	// call was not sent. A listener that is not TCP can't refuse a connection, so it accepts the connection and closes it
	// at once.
	OutageRefuse = "refuse"
	// OutageCut means that each call loses its connection before it takes effect.
	OutageCut = "cut"
	// OutageError means that the stand-in answers each call with Status, like a proxy in front of a platform that
	// is down.
	OutageError = "5xx"
	// OutageHang means that the stand-in never answers a call that was made during the outage, not even after the
	// outage.
	OutageHang = "hang"
)

// Outage is a time in which the API does not work.
type Outage struct {
	Kind string `json:"kind"`
	// For is how long the outage lasts from now on. In JSON, the field for_ms replaces the field For.
	For    time.Duration `json:"-"`
	ForMS  int           `json:"for_ms"`
	Status int           `json:"status"` // HTTP status of the responses in a 5xx outage; 0 means 502
}

// Effect returns how an outage affects each call. action is the action of a fault that has the same effect, and status
// is the HTTP status of the response or 0. lasts is the duration of the outage. Effect returns an error if the outage
// is invalid.
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

// Lasts returns d, or ms milliseconds if d is 0. Go code sets a field of type time.Duration, such as For; JSON sets a
// field in milliseconds, such as for_ms.
func Lasts(d time.Duration, ms int) time.Duration {
	return cmp.Or(d, time.Duration(ms)*time.Millisecond)
}
