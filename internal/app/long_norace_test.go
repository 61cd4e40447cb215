//go:build !race

package app_test

import "testing"

// A conversation is much longer than the model's context window, and the provider counts tokens differently from
// telex. Every question must be answered, and the last request must still contain a summary of the beginning.
func TestFiveHundredTurnsInASmallWindow(t *testing.T) {
	for _, factor := range []string{"0.7", "1", "1.5"} {
		t.Run("token_factor="+factor, func(t *testing.T) {
			longConversation(t, factor)
		})
	}
}
