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

// homepage stands for the address of the project, which has none yet; .invalid is a domain that nobody can own.
const homepage = "https://telex.invalid"

// userAgent is what the platform asks clients to call themselves, with an address and a version. Others may be turned away.
// https://docs.discord.com/developers/reference#user-agent
func userAgent(version string) string {
	number := strings.TrimPrefix(version, "v")
	if !versionNumber.MatchString(number) {
		number = "0"
	}
	return "DiscordBot (" + homepage + ", " + number + ")"
}

// versionNumber is a version that says nothing but numbers, and what a release candidate adds.
var versionNumber = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`)

// request is one call of the API.
type request struct {
	name string // in errors, since the path may hold a token
	verb string
	path string // below the version, with its query
	body any    // as JSON; nil: none
	file *chat.File
	op   chat.Op // what it counts as
	// token is that of the interaction in the path, which no error may show; such calls prove by it who they
	// are, and count apart from all others.
	token string
}

// answer is the outcome of a call that succeeded.
type answer calls.Outcome

// id returns the id of what the answer shows: a decoder of the whole would fail with the first field
// that is not known yet.
func (a *answer) id() string {
	var v struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(a.Body, &v); err != nil || !isSnowflake(v.ID) {
		return ""
	}
	return v.ID
}

// call makes one call. A failure is a *chat.SendError. It blocks until the answer is there or ctx ends.
func (b *Bot) call(ctx context.Context, r request) (*answer, error) {
	var content []byte
	if r.body != nil {
		content, _ = json.Marshal(r.body) // of texts and numbers, which never fails
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, b.api+r.path, bytes.NewReader(content))
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
	req.Header.Set("User-Agent", b.agent)
	o := calls.Do(b.client, req)
	switch {
	case o.Err != nil:
		return nil, o.Unanswered(r.name, b.secrets.With(r.token))
	case o.Status < 200 || o.Status > 299:
		return nil, b.refused(r, o)
	}
	return (*answer)(&o), nil
}

// codeOf returns the platform's code of the answer that err is about, 0 without one.
func codeOf(err error) int {
	code, _ := strconv.Atoi(calls.Code(err))
	return code
}
