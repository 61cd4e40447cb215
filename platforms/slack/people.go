package slack

import (
	"cmp"
	"context"
	"time"

	library "github.com/slack-go/slack"
)

// Events contain only the ids of people. Names are for display and nothing depends on them, so requesting them must not
// delay a message.
const (
	methodUser = "users.info"
	// namesTimeout limits the time to get the names for messages that arrived together, because Slack waits only
	// three seconds for an acknowledgement. If less than minNamesTime is left, no name is requested.
	namesTimeout = time.Second
	minNamesTime = namesTimeout / 4
	// nameLifetime is how long a name is used, and failedLookupLifetime is how long a failed request is not repeated.
	nameLifetime         = 24 * time.Hour
	failedLookupLifetime = 10 * time.Minute
	// maxPeople limits the remembered names.
	maxPeople = 2000
	// maxLookups is the maximum number of requests for names per minute, by all processes with the account together.
	// The method is in tier 4. This is half of the limit, because an earlier process may have used the other half
	// just before. https://docs.slack.dev/reference/methods/users.info
	maxLookups = tier4 / 2
)

// displayName is a person's name, or empty if the request failed.
type displayName struct {
	name  string
	until time.Time // when to request it again; an outdated name is better than none
}

// namesOf returns a function that returns the names of the people in one message. The function requests names until
// the deadline, and returns "" for unknown names.
func (b *Bot) namesOf(ctx context.Context, until time.Time) (name func(user string) string, done context.CancelFunc) {
	ctx, done = context.WithDeadline(ctx, until)
	return func(user string) string {
		known, _ := b.people.Get(user)
		if time.Now().Before(known.until) || ctx.Err() != nil || time.Until(until) < minNamesTime || b.lookupPace.tryTake(b.readers.part(maxLookups)) > 0 {
			return known.name
		}
		fresh, err := b.lookUp(ctx, user)
		if err != nil {
			b.people.Put(user, displayName{known.name, time.Now().Add(failedLookupLifetime)})
			return known.name
		}
		b.people.Put(user, displayName{fresh, time.Now().Add(nameLifetime)})
		return fresh
	}, done
}

// lookUp requests a name: the display name that the person chose, otherwise the full name.
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
