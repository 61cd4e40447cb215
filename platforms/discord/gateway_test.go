package discord_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	standin "telex/standin/discord"
)

// In this test, while the bot answers, Discord drops the gateway connection 20 times and refuses to resume the session
// 10 times. Despite the dropped connections, every question must be answered exactly once.
func TestDroppedGateway(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		house(t, bot, memory.New(), conformance.Talker{}, true)
		channels := []string{w.direct, standin.DefaultChannel, "400000000000000002"}
		w.say(channels[2], "hello") // the first message creates the channel
		w.say(w.direct, "hello")    // the first message creates the DM
		time.Sleep(quiet)
		asked := make(map[string][]string)
		asked[w.direct], asked[channels[2]] = []string{"re: hello"}, []string{"re: hello"}
		for i := range 20 {
			for n, c := range channels {
				if (i+n)%2 == 0 {
					w.say(c, fmt.Sprintf("before %d with some more words to answer", i))
					asked[c] = append(asked[c], fmt.Sprintf("re: before %d with some more words to answer", i))
				}
			}
			time.Sleep(time.Duration(i) * 70 * time.Millisecond)
			if i%2 == 1 {
				w.server.Gateway(standin.Disturbance{Kind: standin.GatewayRefuse})
			}
			if n := w.server.Gateway(standin.Disturbance{Kind: standin.GatewayDrop}); n != 1 {
				t.Errorf("drop %d: %d connections, want one", i, n)
			}
			for n, c := range channels { // people write while no connection is open
				if (i+n)%3 == 0 {
					w.say(c, fmt.Sprintf("after %d", i))
					asked[c] = append(asked[c], fmt.Sprintf("re: after %d", i))
				}
			}
			time.Sleep(20 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		for _, c := range channels {
			to := chat.Target{Chat: chat.ChatID(c), Kind: chat.Group}
			if got := w.Shown(to); !slices.Equal(got, asked[c]) {
				t.Errorf("in %s are shown %q, want %q", c, got, asked[c])
			}
		}
		st := w.server.Stats()
		if st.RefusedResumes != 10 || st.Resumes < 10 {
			t.Errorf("%d resumes and %d refused ones, want 10 each", st.Resumes, st.RefusedResumes)
		}
		if w.Refusals() != 0 {
			t.Errorf("%d calls were answered 429, want none", w.Refusals())
		}
	})
}
