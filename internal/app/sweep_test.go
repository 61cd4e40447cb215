package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The daemon must delete expired data when it starts and then every six hours, until it stops.
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
