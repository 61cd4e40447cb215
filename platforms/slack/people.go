package slack

import (
	"cmp"
	"context"
	"time"

	library "github.com/slack-go/slack"
)

// Slack's events contain only the ids of people, so telex requests people's names. Because names are only displayed,
// a request for a name must not delay a message for long.
const (
	methodUser = "users.info"
	// namesTimeout limits the time to request the names for messages that arrived together, because Slack waits only three
	// seconds for an acknowledgement. If less than minNamesTime is left until the end of namesTimeout, telex requests no
	// further name.
	namesTimeout = time.Second
	minNamesTime = namesTimeout / 4
	// nameLifetime is how long telex uses a name before it requests the name again. After a failed request for a name,
	// telex waits for failedLookupLifetime before it requests the name again.
	nameLifetime         = 24 * time.Hour
	failedLookupLifetime = 10 * time.Minute
	// maxPeople limits the names that a Bot remembers.
	maxPeople = 2000
	// maxLookups is the maximum number of requests for names per minute by all processes that use the account. Slack's
	// limit for methodUser is tier 4. maxLookups is half of this limit, because another process may have used the other
	// half just before this process started. https://docs.slack.dev/reference/methods/users.info
	maxLookups = tier4 / 2
)

// displayName is a person's name, or empty if the request failed.
type displayName struct {
	name  string
	until time.Time // when to request the name again; until then, and if that fails, the old name is used
}

// namesOf returns a function that returns the names of the people in one message. The returned function requests names
// from Slack only until the time in the parameter until. If the returned function can't find out a name, it returns "".
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

// lookUp requests a person's display name. If the person has not chosen a display name, lookUp returns the person's
// full name.
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
