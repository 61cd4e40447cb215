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

// identifyEvery is the least time between two sessions.
// https://docs.discord.com/developers/events/gateway#rate-limiting
const identifyEvery = 5 * time.Second

// identity returns the id of the bot's user; empty: it is not known yet.
func (b *Bot) identity() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.self
}

// Name implements gateway.Named.
func (b *Bot) Name() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name
}

// learn returns an id of the bot's, which it asks for unless it is known.
func (b *Bot) learn(ctx context.Context, id *string, name, path string) (string, error) {
	b.mu.Lock()
	known := *id
	b.mu.Unlock()
	if known != "" {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := b.call(ctx, request{name: name, verb: http.MethodGet, path: path})
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

// learnSelf asks who the bot is, unless that is known.
func (b *Bot) learnSelf(ctx context.Context) error {
	_, err := b.learn(ctx, &b.self, "getMe", "/users/@me")
	return err
}

// gateway asks where the gateway is, and where a session is to begin whether one may.
// https://docs.discord.com/developers/events/gateway#get-gateway-bot
func (b *Bot) gateway(ctx context.Context, begins bool) (string, error) {
	calling, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := b.call(calling, request{name: "getGateway", verb: http.MethodGet, path: "/gateway/bot"})
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
			Err: fmt.Errorf("getGateway: all %d sessions of a day were begun; another process may use the same token", v.SessionStartLimit.Total),
		}
	}
	if err := receiving.Sleep(ctx, time.Until(b.session.identified.Add(identifyEvery))); err != nil {
		return "", err
	}
	b.session.identified = time.Now()
	return v.URL, nil
}

// receiveError turns the failure of a call into what Run returns. Asking again can't do harm, so that Uncertain
// becomes Temporary, and what only the operator can end says how.
func receiveError(err error) error {
	failure := calls.Repeatable(err)
	switch {
	case failure.Kind == chat.Auth:
		failure.Err = fmt.Errorf("the token is refused: reset it in the Developer Portal, page Bot (%w)", failure.Err)
	case calls.Status(err) == http.StatusNotFound:
		failure.Err = fmt.Errorf("api_base does not lead to Discord's API: it is scheme and host (%w)", failure.Err)
	}
	return failure
}
