package discord_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/standin/discord"
)

// At random moments, the client's connection breaks or stalls, and later the client resumes the session. The client
// must get each message once and in order.
func TestResumeLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"say", "read", "zombie", "drop"}), 1, 15).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = playResumes(free(t), steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// playResumes runs the steps, and returns an error as soon as the client gets a wrong event or none.
func playResumes(c *client, steps []string) error {
	g, session := c.identify(usual)
	said, read, silent := 0, 0, false
	next := func() error {
		e, err := g.next()
		if err != nil {
			return fmt.Errorf("message %d: %w", read, err)
		}
		if m := e.message(c.t); m.Content != strconv.Itoa(read) {
			return fmt.Errorf("got %s %q, want message %d", e.Type, m.Content, read)
		}
		read++
		return nil
	}
	for _, step := range append(steps, "drop") {
		switch step {
		case "say":
			c.say(discord.Incoming{Text: strconv.Itoa(said)})
			said++
		case "read":
			if read == said || silent {
				continue
			}
			if err := next(); err != nil {
				return err
			}
		case "zombie":
			synctest.Wait()
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayZombie})
			silent = true
		case "drop":
			c.server.Gateway(discord.Disturbance{Kind: discord.GatewayDrop})
			synctest.Wait()
			pause(time.Minute)
			g, silent = c.resume(session, g.seq), false
			for read < said {
				if err := next(); err != nil {
					return err
				}
			}
			e, err := g.next()
			if err != nil {
				return fmt.Errorf("end of the replay: %w", err)
			}
			if e.Type != "RESUMED" {
				return fmt.Errorf("got %s, want RESUMED", e.Type)
			}
		}
	}
	return nil
}
