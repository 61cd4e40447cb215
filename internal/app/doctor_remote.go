package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"telex/agent"
	"telex/internal/chat"
	"telex/internal/config"
)

// examiner is an adapter that can check its bot account.
type examiner interface {
	// Examine asks the platform for the bot's account and settings. Examine neither receives nor sends messages, so a
	// daemon may use the account at the same time.
	Examine(ctx context.Context) (chat.Examination, error)
}

// endpoint checks the bot account of an endpoint.
func (d *doctor) endpoint(ctx context.Context, c *config.Config, e config.Endpoint) []finding {
	if e.Kind == config.KindAPIServer {
		return nil // an API server uses no platform; the method addresses checks its address
	}
	name := "endpoint " + e.Name
	adapter := newAccount(e, minPause, d.o, d.o.Log)
	defer adapter.Close()
	began := time.Now()
	seen, err := adapter.Examine(ctx)
	if err != nil {
		return []finding{{name, problem, err.Error(), mendOf(chat.AsSendError(err).Kind, "platforms."+e.Name)}}
	}
	found := []finding{{Check: name, State: healthy, What: fmt.Sprintf("%s is %s, answered in %s", network(e.Kind), seen.Account, rounded(time.Since(began)))}}
	for _, f := range seen.Findings {
		found = append(found, finding{name, problem, f.What, f.Mend})
	}
	return found
}

// mendOf returns what an operator can do if a platform refuses a request with an error of this kind.
func mendOf(kind chat.ErrorKind, section string) string {
	switch kind {
	case chat.Auth, chat.Forbidden:
		return "put a valid token into " + section
	case chat.RateLimited:
		return "wait a little, then run telex doctor again"
	}
	return "check the addresses in " + section + ", the network, DNS and the proxy (HTTPS_PROXY)"
}

// model asks a model a short question, and asks the model's provider for the model's limits.
func (d *doctor) model(ctx context.Context, c *config.Config, m config.Model) []finding {
	name, section := "model "+m.Name, fmt.Sprintf("the model %s in the configuration", m.Name)
	model, err := newModel(m, false, d.o)
	if err != nil {
		return []finding{{name, problem, err.Error(), "correct " + section}}
	}
	began := time.Now()
	asking, enough := context.WithCancel(ctx) // once the answer has begun, enough() cancels the request
	defer enough()
	_, err = model.Stream(asking, agent.Request{
		System: c.Agent.SystemPrompt, Messages: []agent.Message{{Role: agent.User, Text: "Answer with the word ok alone."}},
	}, func(d agent.Delta) {
		if d.Text != "" || d.Reasoning != "" {
			enough()
		}
	})
	if err != nil && asking.Err() == nil {
		return []finding{{name, problem, err.Error(), mendModel(err, section)}}
	}
	what := fmt.Sprintf("%s began to answer after %s", m.Model, rounded(time.Since(began)))
	told := d.limits(ctx, m)
	if told.window > 0 {
		what += fmt.Sprintf("; its window is %d tokens", told.window)
	}
	if told.output > 0 {
		what += fmt.Sprintf("; an answer may have %d tokens", told.output)
	}
	found := []finding{{Check: name, State: healthy, What: what}}
	if told.window > 0 && m.ContextWindow > told.window {
		found = append(found, finding{
			name, doubt, fmt.Sprintf("context_window is %d, but the provider says %d", m.ContextWindow, told.window),
			fmt.Sprintf("set context_window: %d", told.window),
		})
	}
	if told.output > 0 && m.MaxOutputTokens > told.output {
		found = append(found, finding{
			name, doubt, fmt.Sprintf("max_output_tokens is %d, but the provider says %d", m.MaxOutputTokens, told.output),
			fmt.Sprintf("set max_output_tokens: %d, or remove the line", told.output),
		})
	}
	return found
}

func mendModel(err error, section string) string {
	failed, _ := errors.AsType[*agent.ModelError](err)
	if failed == nil {
		return "correct " + section
	}
	switch failed.Kind {
	case agent.Auth:
		return "put a valid key into api_key of " + section
	case agent.Quota:
		return "pay the provider, or choose another model"
	case agent.RateLimited, agent.TooLarge:
		return "wait a little, or raise the account's limits at the provider"
	case agent.BadRequest:
		return "compare model, api and extra of " + section + " with the provider's documentation"
	}
	return "check base_url of " + section + ", the network, DNS and the proxy (HTTPS_PROXY)"
}

// modelLimits contains the limits of a model, in tokens, as its provider reports them. 0 means that a limit is
// unknown.
type modelLimits struct{ window, output int }

// maxModels is the maximum size in bytes of a response that lists a provider's models.
const maxModels = 8 << 20

// limits asks the provider for a model's context window. OpenAI does not report a model's context window. Other
// providers report the context window in fields with different names: vLLM,
// https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html; OpenRouter,
// https://openrouter.ai/docs/api-reference/list-available-models; Groq, https://console.groq.com/docs/models. If the
// request fails, limits returns zeros and reports no error, because the model has already answered a question.
func (d *doctor) limits(ctx context.Context, m config.Model) (told modelLimits) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.BaseURL+"/models", nil)
	if err != nil {
		return told
	}
	req.Header.Set("Authorization", "Bearer "+m.APIKey.Reveal())
	for name, value := range m.Headers {
		req.Header.Set(name, value.Reveal())
	}
	resp, err := d.skew.RoundTrip(req)
	if err != nil {
		return told
	}
	defer func() { _ = resp.Body.Close() }()
	var list struct {
		Data []struct {
			ID        string `json:"id"`
			Context   int    `json:"context_length"`
			MaxModel  int    `json:"max_model_len"`
			Window    int    `json:"context_window"`
			MaxOutput int    `json:"max_completion_tokens"`
			Top       struct {
				MaxOutput int `json:"max_completion_tokens"`
			} `json:"top_provider"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxModels)).Decode(&list); err != nil {
		return told
	}
	for _, one := range list.Data {
		if one.ID == m.Model {
			return modelLimits{window: max(one.Context, one.MaxModel, one.Window), output: max(one.MaxOutput, one.Top.MaxOutput)}
		}
	}
	return told
}

func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }

// skewMeter is an http.RoundTripper that compares this machine's clock with the time in each response.
type skewMeter struct {
	next     http.RoundTripper
	mu       sync.Mutex
	smallest time.Duration // the smallest difference so far; positive if this machine's clock is ahead
	from     string        // the server with the smallest difference; empty: no response contained a time
}

func newSkewMeter(next http.RoundTripper) *skewMeter { return &skewMeter{next: next} }

// RoundTrip implements http.RoundTripper.
func (d *skewMeter) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := d.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if at, failed := http.ParseTime(resp.Header.Get("Date")); failed == nil { // the header Date contains the time in whole seconds
		between := began.Add(time.Since(began) / 2)
		d.mu.Lock()
		if skew := between.Sub(at.Add(time.Second / 2)); d.from == "" || skew.Abs() < d.smallest.Abs() {
			d.smallest, d.from = skew, req.URL.Host
		}
		d.mu.Unlock()
	}
	return resp, nil
}

// If this machine's clock differs from the servers' clocks by more than doubtfulSkew, Doctor warns. If this machine's clock
// differs from the servers' clocks by more than maxSkew, Doctor reports a problem, because the daemon would treat new messages
// as old ones.
const (
	doubtfulSkew = 5 * time.Second
	maxSkew      = time.Minute
)

// clock reports how much this machine's clock differs from the clocks of the servers that responded to earlier checks.
func (d *doctor) clock() finding {
	d.skew.mu.Lock()
	defer d.skew.mu.Unlock()
	const mend = "set the clock by the network: timedatectl set-ntp true"
	off := fmt.Sprintf("this machine's clock differs by %s from that of %s", d.skew.smallest.Abs().Round(time.Second), d.skew.from)
	switch {
	case d.skew.from == "":
		return finding{"clock", doubt, "no server sent the time", ""}
	case d.skew.smallest.Abs() > maxSkew:
		return finding{"clock", problem, off, mend}
	case d.skew.smallest.Abs() > doubtfulSkew:
		return finding{"clock", doubt, off, mend}
	}
	return finding{Check: "clock", State: healthy, What: "agrees with " + d.skew.from}
}
