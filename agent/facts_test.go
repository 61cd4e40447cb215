package agent

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFactorFollowsTheUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		request   Request
		estimated int
		told      int
		times     int
		min, max  float64
	}{
		{"begins at one", Request{}, 1000, 1000, 0, 1, 1},
		{"once", Request{}, 1000, 1400, 1, 1.05, 1.2},
		{"often", Request{}, 1000, 1400, 30, 1.39, 1.4},
		{"down", Request{}, 1000, 700, 30, 0.7, 0.71},
		{"not told", Request{}, 1000, 0, 30, 1, 1},
		{"absurdly many", Request{}, 1000, 1e9, 1, 1.4, 1.6},
		{"absurdly few", Request{}, 1000, 1, 100, 0.5, 0.51},
		{"too short to tell", Request{}, 20, 60, 30, 1, 1},
		{"images", Request{Messages: []Message{{Images: photos("a")}}}, 1000, 100, 30, 1, 1},
	} {
		l := newModelFacts()
		for range tt.times {
			l.recordAccepted(tt.request, tt.estimated, tt.told)
		}
		if l.factor < tt.min || l.factor > tt.max {
			t.Errorf("%s: factor %v, want %v to %v", tt.name, l.factor, tt.min, tt.max)
		}
	}
}

func TestRoomForAQuestion(t *testing.T) {
	t.Parallel()
	l := newModelFacts()
	if got := l.room(0, 100); got != 0 {
		t.Errorf("without a window: %d, want any number", got)
	}
	if got := l.room(1100, 100); got != 950 {
		t.Errorf("got %d, want 950", got)
	}
	if got := l.room(100, 99); got != 1 {
		t.Errorf("got %d, want a room", got)
	}
	l.factor = 2
	if got := l.room(1100, 100); got != 475 {
		t.Errorf("with twice the tokens: %d, want 475", got)
	}
	l.rememberTooLong(400, 0)
	if got, unlimited := l.room(1100, 100), l.room(0, 0); got != 300 || unlimited != 300 {
		t.Errorf("after a refusal: %d and %d, want 300", got, unlimited)
	}
	l.rememberTooLong(1000, 0) // this limit is higher than the one that is already known
	if got := l.room(1100, 100); got != 300 {
		t.Errorf("after a refusal of more: %d, want 300", got)
	}
	for range 100 {
		l.recordAccepted(Request{}, 290, 580)
	}
	if got := l.room(1100, 100); got < 400 {
		t.Errorf("after 100 accepted requests of nearly as much: %d, want the room to come back", got)
	}
	for range 100 {
		l.recordAccepted(Request{}, 10, 0)
	}
	if most := l.limitOf(maxRequest); most > 1000 {
		t.Errorf("short requests made it %d", most)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	if got := shorten("Hello.", 10); got != "Hello." {
		t.Errorf("got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(-5, 60).Draw(t, "most")
		got := shorten(text, most)
		if EstimateTokens(text) <= most {
			if got != text {
				t.Fatalf("%q fits and became %q", text, got)
			}
			return
		}
		if n := EstimateTokens(got); n > max(most, leftOutTokens) {
			t.Fatalf("%q has %d tokens, want at most %d", got, n, most)
		}
	})
}
