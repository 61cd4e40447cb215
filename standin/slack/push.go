package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// maxAppAnswer is the maximum number of bytes that the server reads of an app's response.
const maxAppAnswer = 1 << 20

// Sign returns the signature of a request to the app, which consists of "v0=" and the HMAC-SHA256 of
// "v0:timestamp:body" in hex. Source: https://docs.slack.dev/authentication/verifying-requests-from-slack
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// SetRequestURL disables Socket Mode. After this call, the server posts events, commands and button presses to the URL.
// The app at this URL must first answer Slack's challenge within three seconds. An empty URL enables Socket Mode again.
func (s *Server) SetRequestURL(ctx context.Context, target string) error {
	if target != "" {
		if err := s.challenge(ctx, target); err != nil {
			return fmt.Errorf("verify request URL: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestURL = target
	return nil
}

// challenge sends a challenge to the app and checks the answer, as described in
// https://docs.slack.dev/reference/events/url_verification.
func (s *Server) challenge(ctx context.Context, target string) error {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	s.mu.Lock()
	secret := s.uuid()
	s.mu.Unlock()
	body := rig.Encode(object{"token": verificationToken, "challenge": secret, "type": "url_verification"})
	got, err := s.post(ctx, target, "application/json", body, http.Header{}, nil)
	switch {
	case err != nil:
		return err
	case got.status != http.StatusOK:
		return fmt.Errorf("answer with status %d", got.status)
	}
	var told struct {
		Challenge string `json:"challenge"`
	}
	form, _ := url.ParseQuery(string(got.body)) // ignore the error: a body that is not a form contains no challenge
	if strings.TrimSpace(string(got.body)) != secret && (json.Unmarshal(got.body, &told) != nil || told.Challenge != secret) && form.Get("challenge") != secret {
		return errors.New("the challenge was not answered")
	}
	return nil
}

// appAnswer is the app's response to a request of the server.
type appAnswer struct {
	status  int
	noRetry bool
	body    []byte
}

// post makes a signed request to the app and reads the response.
func (s *Server) post(ctx context.Context, target, contentType string, body []byte, h http.Header, rule *Fault) (appAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return appAnswer{}, fmt.Errorf("make request: %w", err)
	}
	at, secret := time.Now(), s.opts.SigningSecret
	if rule != nil {
		switch rule.Action {
		case ActBadSignature:
			secret += "-of-somebody-else"
		case ActStale:
			at = at.Add(-10 * time.Minute)
		}
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	req.Header = h
	h.Set("Content-Type", contentType)
	h.Set("User-Agent", "Slackbot 1.0 (+https://api.slack.com/robots)")
	h.Set("X-Slack-Request-Timestamp", stamp)
	h.Set("X-Slack-Signature", Sign(secret, stamp, body))
	res, err := s.app.Do(req)
	if err != nil {
		return appAnswer{}, fmt.Errorf("post to the app: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAppAnswer))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return appAnswer{}, fmt.Errorf("read the app's answer: %w", err)
	}
	return appAnswer{status: res.StatusCode, noRetry: res.Header.Get("X-Slack-No-Retry") == "1", body: data}, nil
}

// push makes one attempt to deliver p over HTTP.
func (s *Server) push(ctx context.Context, p *pendingDelivery, target string, retry int, reason string, rule *Fault) outcome {
	contentType, body := "application/json", rig.Encode(p.payload)
	switch p.Kind {
	case kindCommand:
		contentType, body = "application/x-www-form-urlencoded", commandForm(p.payload)
	case kindAction:
		contentType = "application/x-www-form-urlencoded"
		body = []byte(url.Values{"payload": {string(body)}}.Encode())
	}
	h := http.Header{}
	if retry > 0 {
		h.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
		h.Set("X-Slack-Retry-Reason", reason)
	}
	s.Locked(func() { s.recordAttempt(p, Attempt{Via: "http", Retry: retry, Reason: reason}) })
	limited, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	got, err := s.post(limited, target, contentType, body, h, rule)
	switch {
	case err != nil && ctx.Err() != nil:
		return outcome{failed: "closed", stop: true}
	case err != nil && limited.Err() != nil:
		return s.recordFailure(p, "http_timeout")
	case err != nil:
		if opError, ok := errors.AsType[*net.OpError](err); ok && opError.Op == "dial" {
			return s.recordFailure(p, "connection_failed")
		}
		return s.recordFailure(p, "unknown_error")
	case got.status >= 200 && got.status < 300:
		return outcome{acked: true, answer: got.body}
	}
	out := s.recordFailure(p, "http_error")
	out.stop = got.noRetry
	return out
}

// commandForm returns the payload of a slash command as a form.
func commandForm(payload object) []byte {
	form := make(url.Values, len(payload))
	for name, v := range payload {
		form.Set(name, fmt.Sprint(v))
	}
	return []byte(form.Encode())
}
