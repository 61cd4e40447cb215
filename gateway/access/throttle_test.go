package access_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway/access"
)

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := access.NewThrottle(time.Minute)
		if th.Recent("a") || !th.Allow("a") || th.Allow("a") || !th.Recent("a") || !th.Allow("b") {
			t.Error("something is not allowed exactly once")
		}
		time.Sleep(time.Minute)
		if th.Recent("a") || !th.Allow("a") {
			t.Error("after a while it is not allowed again")
		}
		for i := range 2000 {
			th.Mark(strconv.Itoa(i))
		}
		if th.Mark("one too many") || !th.Mark("0") {
			t.Error("it remembers a crowd, or forgets what it knows")
		}
		time.Sleep(time.Minute)
		if !th.Mark("one too many") {
			t.Error("it does not forget")
		}
	})
}
