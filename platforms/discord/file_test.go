package discord_test

import (
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	standin "telex/standin/discord"
)

// In this test, the bot may write messages but not attach files. The rest of a very long answer, which would normally
// be sent as a file, must be sent in further messages.
func TestFilesAreNotAllowed(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		if err := w.server.Permit(standin.DefaultChannel, standin.Access{NoFiles: true}); err != nil {
			t.Fatal(err)
		}
		bot := w.bot(discarded(), conformance.Proper)
		_, err := bot.SendFile(t.Context(), w.Group(), outgoing("x", ""), chat.File{Name: "a.txt", Content: []byte("x")})
		if chat.AsSendError(err).Kind != chat.Rejected {
			t.Errorf("SendFile = %v, want that it is rejected", err)
		}
		text := strings.Repeat("word ", 2500)
		house(t, bot, memory.New(), conformance.Talker{Text: text}, true)
		w.say(standin.DefaultChannel, "a long answer, please")
		time.Sleep(10 * time.Minute)
		if got := strings.Fields(strings.Join(w.Shown(w.Group()), " ")); len(got) != 2500 {
			t.Errorf("%d of 2500 words are shown", len(got))
		}
	})
}
