package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Expired data is deleted at the start and then every six hours, until the daemon ends.
func TestStoreIsSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		a := &App{sweep: func(context.Context) { n++ }}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Hour)
		defer cancel()
		a.sweepRegularly(ctx)
		if n != 5 {
			t.Errorf("swept %d times in 25 hours, want 5", n)
		}
	})
}
