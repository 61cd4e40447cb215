package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// homepage is a placeholder for the project's URL, which does not exist yet. Nobody can own a domain under .invalid.
const homepage = "https://telex.invalid"

// userAgent returns the User-Agent header in the form that Discord requires, with a URL and a version. Discord may
// block clients whose header has another form. https://docs.discord.com/developers/reference#user-agent
func userAgent(version string) string {
	number := strings.TrimPrefix(version, "v")
	if !versionNumber.MatchString(number) {
		number = "0"
	}
	return "DiscordBot (" + homepage + ", " + number + ")"
}

// versionNumber matches a version number, optionally with the suffix of a release candidate.
var versionNumber = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`)

// request is one call of the API.
type request struct {
	name   string // names the call in errors, because the path may contain a token
	method string
	path   string // the part of the URL after the API's version, including the query
	body   any    // sent as JSON; nil: the call has no body
	file   *chat.File
	op     chat.Op // the kind of call, for rate limits; 0: an auxiliary call
	// token is the interaction's token, which is a part of the path and must not appear in errors. If token is set, the
	// interaction's token authorizes the call in place of the bot's token. Calls with an interaction's token have rate
	// limits of their own.
	token string
}

// response is the response to a successful call.
type response calls.Outcome

// id returns the id of the message in the response. id ignores all other fields, so that a field of an unexpected
// form can't make decoding fail.
func (a *response) id() string {
	var v struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(a.Body, &v); err != nil || !isSnowflake(v.ID) {
		return ""
	}
	return v.ID
}

// call makes one call of the API. All errors that call returns are of type *chat.SendError. The method call blocks
// until the response arrives or ctx ends.
func (b *Bot) call(ctx context.Context, r request) (*response, error) {
	var content []byte
	if r.body != nil {
		content, _ = json.Marshal(r.body) // encoding can't fail, because the body contains only strings and numbers
	}
	req, err := http.NewRequestWithContext(ctx, r.method, b.api+r.path, bytes.NewReader(content))
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: invalid URL", r.name)}
	}
	switch {
	case r.file != nil:
		calls.NewForm([]calls.Field{{Name: "payload_json", MediaType: "application/json", Value: string(content)}}, "files[0]", *r.file).Fill(req)
	case r.body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token == "" {
		req.Header.Set("Authorization", "Bot "+b.token)
	}
	req.Header.Set("User-Agent", b.userAgent)
	o := calls.Do(b.client, req)
	switch {
	case o.Err != nil:
		return nil, o.UnansweredError(r.name, b.secrets.With(r.token))
	case o.Status < 200 || o.Status > 299:
		return nil, b.callError(r, o)
	}
	return (*response)(&o), nil
}

// codeOf returns the Discord error code that err contains, or 0 if err contains none.
func codeOf(err error) int {
	code, _ := strconv.Atoi(calls.Code(err))
	return code
}
