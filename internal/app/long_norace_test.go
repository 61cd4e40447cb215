//go:build !race

package app_test

import "testing"

// The conversation is much longer than the model's window, and the provider counts tokens differently from telex. The
// provider refuses no request, and the model still has a summary of the beginning.
func TestFiveHundredTurnsInASmallWindow(t *testing.T) {
	for _, factor := range []string{"0.7", "1", "1.5"} {
		t.Run("token_factor="+factor, func(t *testing.T) {
			longConversation(t, factor)
		})
	}
}
