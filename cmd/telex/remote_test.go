package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// remote is a stand-in in another process, used through its control API.
type remote struct {
	t   *testing.T
	url string
}

// awaitAddress waits until the process has printed its address, and returns it. The address is what the first group of
// the regular expression in the parameter line matches.
func (p *process) awaitAddress(line *regexp.Regexp) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	var url string
	if !p.stdout.await(ctx, func(text string) bool {
		if m := line.FindStringSubmatch(text); m != nil {
			url = m[1]
		}
		return url != ""
	}) {
		p.t.Fatalf("telex %s printed no address: %q", p.name, p.stdout)
	}
	return url
}

// get returns the body of the response to a GET request for a path.
func (r remote) get(path string) string {
	r.t.Helper()
	return r.exchange(http.MethodGet, path, nil)
}

func (r remote) exchange(method, path string, body io.Reader) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Close = true // an idle connection must not outlive the test
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		r.t.Fatalf("%s %s: %s %v: %s", method, path, resp.Status, err, data)
	}
	return string(data)
}

// post sends an object as JSON, and ignores the response.
func (r remote) post(path string, object any) {
	r.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		r.t.Fatal(err)
	}
	r.exchange(http.MethodPost, path, bytes.NewReader(body))
}

// ask sends an object as JSON, and decodes the response into answer.
func (r remote) ask(path string, object, answer any) {
	r.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(r.exchange(http.MethodPost, path, bytes.NewReader(body))), answer); err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
}

// say writes to the bot as ada.
func (r remote) say(text string) {
	r.t.Helper()
	r.post("/control/say", telegram.Incoming{User: ada, FirstName: "Ada", Text: text})
}

// decode returns the value that the stand-in serves as JSON at a path.
func decode[T any](r remote, path string) (v T) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.get(path)), &v); err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	return v
}

// replies returns the bot's messages in a chat that are not deleted.
func (r remote) replies(chat int64) []telegram.Message {
	r.t.Helper()
	var list []telegram.Message
	for _, m := range decode[telegram.ChatHistory](r, fmt.Sprintf("/control/history?chat=%d", chat)).Messages {
		if m.FromBot && m.Alive() {
			list = append(list, m)
		}
	}
	return list
}

// awaitReplies waits until ok returns true for the texts of the bot's messages in a chat. awaitReplies calls the
// function ok after each event of the stand-in.
func (r remote) awaitReplies(chat int64, what string, ok func(texts []string) bool) (list []telegram.Message) {
	r.t.Helper()
	r.awaitEvent(what, func() bool {
		list = r.replies(chat)
		var texts []string
		for _, m := range list {
			texts = append(texts, m.Text())
		}
		return ok(texts)
	}, func() string { return fmt.Sprintf("the chat shows %+v", list) })
	return list
}

// awaitEvent waits until ok returns true. awaitEvent calls the function ok after every event of the stand-in. If the
// wait fails, awaitEvent prints what the functions in seen return.
func (r remote) awaitEvent(what string, ok func() bool, seen ...func() string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/control/events", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for !ok() {
		if !nextEvent(lines) {
			for _, see := range seen {
				what += "; " + see()
			}
			r.t.Fatalf("waited in vain for %s: %v", what, lines.Err())
		}
	}
}

// nextEvent reads until the end of the next event. nextEvent returns false if there are no more events.
func nextEvent(lines *bufio.Scanner) bool {
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			return true
		}
	}
	return false
}

// requests returns the requests that the model received.
func (r remote) requests() []openai.Request {
	r.t.Helper()
	return decode[[]openai.Request](r, "/control/requests")
}
