package slack

import (
	"cmp"
	"context"
	"time"

	library "github.com/slack-go/slack"
)

// Events have the ids of people only. Names are for display, and nothing depends on them, so looking them up must not delay a
// message.
const (
	methodUser = "users.info"
	// namesFor is how long the names of messages that arrived together may take: Slack waits three seconds in all. With less than
	// leastNames left, no name is looked up.
	namesFor   = time.Second
	leastNames = namesFor / 4
	// knownFor is how long a name is used, unknownFor how long a failed lookup is not repeated.
	knownFor   = 24 * time.Hour
	unknownFor = 10 * time.Minute
	// maxPeople is how many names are kept.
	maxPeople = 2000
	// maxLookups is how many names are looked up in a minute; the method is tier 4.
	// https://docs.slack.dev/reference/methods/users.info
	maxLookups = tier4 / 2
)

// displayName is a person's name; empty if the lookup failed.
type displayName struct {
	name  string
	until time.Time // when to look it up again; an old name is better than none
}

// nameOf returns a function that returns people's names, for one message. It looks names up until the time is over, and returns
// "" for names that it does not know.
func (b *Bot) nameOf(ctx context.Context, until time.Time) (name func(user string) string, done context.CancelFunc) {
	ctx, done = context.WithDeadline(ctx, until)
	return func(user string) string {
		known, _ := b.people.Get(user)
		if time.Now().Before(known.until) || ctx.Err() != nil || time.Until(until) < leastNames || b.lookups.take(maxLookups) > 0 {
			return known.name
		}
		fresh, err := b.lookUp(ctx, user)
		if err != nil {
			b.people.Put(user, displayName{known.name, time.Now().Add(unknownFor)})
			return known.name
		}
		b.people.Put(user, displayName{fresh, time.Now().Add(knownFor)})
		return fresh
	}, done
}

// lookUp asks Slack for a name: the one that the person chose, else the full name.
func (b *Bot) lookUp(ctx context.Context, user string) (string, error) {
	a, err := b.call(ctx, methodUser, func(ctx context.Context, api *library.Client) error {
		_, err := api.GetUserInfoContext(ctx, user)
		return err
	})
	if err != nil {
		return "", err
	}
	var result struct {
		User struct {
			Name     string `json:"name"`
			RealName string `json:"real_name"`
			Profile  struct {
				DisplayName string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	if err := a.decode(methodUser, &result); err != nil {
		return "", err
	}
	return cmp.Or(result.User.Profile.DisplayName, result.User.RealName, result.User.Name), nil
}
