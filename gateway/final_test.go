package gateway_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// failing makes every further send fail with err. If the parameter err is nil, sends succeed again.
func (p *platform) failing(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// A final can't be delivered for now. After /stop, the final must not be delivered any more.
func TestStopCutsAFinalThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.failing(&chat.SendError{Kind: chat.Temporary, Err: errors.New("away")})
		h.say(t, ask("a"))
		later(time.Minute)
		h.say(t, command("stop"))
		later(30 * time.Second)
		h.failing(nil)
		later(5 * time.Minute)
		equal(t, "messages", h.sees(), []string{"Stopped."})
		h.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"Stopped.", "re: b"})
	})
}

// A new message arrives while a final can't be delivered. The final must still be delivered, and the answer to the new
// message must come below the final.
func TestANewMessageWaitsForTheFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.failing(&chat.SendError{Kind: chat.Temporary, Err: errors.New("away")})
		h.say(t, ask("a"))
		later(time.Minute)
		h.say(t, ask("b"))
		later(30 * time.Second)
		h.failing(nil)
		later(5 * time.Minute)
		equal(t, "messages", h.sees(), []string{"re: a", "re: b"})
		if n := len(h.questions()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// A process dies before it could deliver a final. The next process must deliver this final before it answers a newer question.
func TestARecoveredFinalKeepsItsPlace(t *testing.T) { // D10
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.failing(&chat.SendError{Kind: chat.Temporary, Err: errors.New("away")})
		l.say(t, ask("x"))
		later(time.Minute)
		l.say(t, ask("b"))
		later(time.Second)
		l.kill()
		l.begin(t, nil)
		later(20 * time.Second)
		l.platform.failing(nil)
		later(5 * time.Minute)
		equal(t, "messages", l.sees(), []string{"re: x", "re: b"})
	})
}

// The platform refuses an answer because of the bot's credentials. The answer must be sent after the operator has
// corrected the credentials.
func TestRefusedCredentialsLoseNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.failing(&chat.SendError{Kind: chat.Auth, Err: errors.New("token revoked")})
		l.say(t, ask("x"))
		later(time.Minute)
		_ = l.stop()
		l.platform.failing(nil)
		l.begin(t, nil)
		later(5 * time.Minute)
		equal(t, "messages", l.sees(), []string{"re: x"})
	})
}
