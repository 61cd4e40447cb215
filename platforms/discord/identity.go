package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
	"telex/platforms/internal/receiving"
)

// identifyEvery is the minimum time between the starts of two sessions.
// https://docs.discord.com/developers/events/gateway#rate-limiting
const identifyEvery = 5 * time.Second

// identity returns the id of the bot's user, or "" if the bot does not know this id yet.
func (b *Bot) identity() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.selfID
}

// Name implements gateway.Named.
func (b *Bot) Name() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name
}

// fetchID returns one of the bot's ids, which is cached in *id. If the cache is empty, fetchID requests the id from
// Discord.
func (b *Bot) fetchID(ctx context.Context, id *string, name, path string) (string, error) {
	b.mu.Lock()
	known := *id
	b.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := b.call(ctx, request{name: name, method: http.MethodGet, path: path})
	if err != nil {
		return "", err
	}
	if known = a.id(); known == "" {
		return "", &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: the answer has no id", name)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	*id = known
	return known, nil
}

// fetchSelf requests the id of the bot's user from Discord, unless the bot already knows this id.
func (b *Bot) fetchSelf(ctx context.Context) error {
	_, err := b.fetchID(ctx, &b.selfID, "getMe", "/users/@me")
	return err
}

// gatewayURL requests the URL of Discord's gateway. If begins is true, gatewayURL also waits until the bot may start
// a session.
// https://docs.discord.com/developers/events/gateway#get-gateway-bot
func (b *Bot) gatewayURL(ctx context.Context, begins bool) (string, error) {
	calling, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := b.call(calling, request{name: "getGateway", method: http.MethodGet, path: "/gateway/bot"})
	if err != nil {
		return "", receiveError(err)
	}
	var v discordgo.GatewayBotResponse
	if err := json.Unmarshal(a.Body, &v); err != nil || v.URL == "" {
		return "", &chat.SendError{Kind: chat.Temporary, Err: errors.New("getGateway: the answer names no address")}
	}
	if !begins {
		return v.URL, nil
	}
	if v.SessionStartLimit.Total > 0 && v.SessionStartLimit.Remaining <= 0 {
		return "", &chat.SendError{
			Kind: chat.RateLimited, RetryAfter: time.Duration(v.SessionStartLimit.ResetAfter) * time.Millisecond,
			Err: fmt.Errorf("getGateway: all %d sessions of a day have been started; another process may use the same token", v.SessionStartLimit.Total),
		}
	}
	if err := receiving.Sleep(ctx, time.Until(b.session.identified.Add(identifyEvery))); err != nil {
		return "", err
	}
	b.session.identified = time.Now()
	return v.URL, nil
}

// receiveError converts the error of a call that Run makes to an error that Run may return. Repeating a call that Run
// makes does no harm, so receiveError replaces the error kind Uncertain with Temporary. If only the operator can solve
// the problem, the error's text says how to solve it.
func receiveError(err error) error {
	failure := calls.AsRepeatable(err)
	switch {
	case failure.Kind == chat.Auth:
		failure.Err = fmt.Errorf("the token is refused: reset it in the Developer Portal, page Bot (%w)", failure.Err)
	case calls.Status(err) == http.StatusNotFound:
		failure.Err = fmt.Errorf("api_base does not lead to Discord's API: write scheme and host (%w)", failure.Err)
	}
	return failure
}
