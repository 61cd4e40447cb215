package preview

import (
	"testing"
	"time"
)

// F41: a process that has lost its lease makes no call.
func TestNoCallWithoutALease_F41(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		e.MayCall = func() bool { return time.Since(p.began) < 1500*time.Millisecond }
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", time.Second)
		s.says(" four", 10*time.Second)
		s.slot.Finish(Ending{Text: "the final"})
		time.Sleep(10 * time.Second)
		s.cancel()
		<-s.ended
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "1s edit 1: one two three four ▌"})
	})
}
