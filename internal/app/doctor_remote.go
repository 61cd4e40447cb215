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

// examiner is an adapter that can say how its account is.
type examiner interface {
	// Examine asks the platform about the bot. It receives and sends nothing, so a daemon may use the same account.
	Examine(ctx context.Context) (chat.Examination, error)
}

// endpoint asks a platform about its bot.
func (d *doctor) endpoint(ctx context.Context, c *config.Config, e config.Endpoint) []finding {
	if e.Kind == config.KindAPIServer {
		return nil // it asks nobody; addresses looks at where it listens
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

// mendOf says what to do about a platform that refuses the doctor's question.
func mendOf(kind chat.ErrorKind, section string) string {
	switch kind {
	case chat.Auth, chat.Forbidden:
		return "put a valid token into " + section
	case chat.RateLimited:
		return "wait a little and ask again"
	}
	return "check the addresses in " + section + ", the network, DNS and the proxy (HTTPS_PROXY)"
}

// model asks a model one short question, and its provider how long the model's requests may be.
func (d *doctor) model(ctx context.Context, c *config.Config, m config.Model) []finding {
	name, section := "model "+m.Name, fmt.Sprintf("the model %s in the configuration", m.Name)
	model, err := newModel(m, false, d.o)
	if err != nil {
		return []finding{{name, problem, err.Error(), "correct " + section}}
	}
	began := time.Now()
	asking, enough := context.WithCancel(ctx) // the beginning of an answer is enough
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
		what += fmt.Sprintf("; an answer may have %d", told.output)
	}
	found := []finding{{Check: name, State: healthy, What: what}}
	if told.window > 0 && m.ContextWindow > told.window {
		found = append(found, finding{
			name, doubt, fmt.Sprintf("context_window is %d, and the provider says %d", m.ContextWindow, told.window),
			fmt.Sprintf("set context_window: %d", told.window),
		})
	}
	if told.output > 0 && m.MaxOutputTokens > told.output {
		found = append(found, finding{
			name, doubt, fmt.Sprintf("max_output_tokens is %d, and the provider says %d", m.MaxOutputTokens, told.output),
			fmt.Sprintf("set max_output_tokens: %d, or leave it out", told.output),
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

// modelLimits are what a provider says about a model, in tokens; 0: it does not say.
type modelLimits struct{ window, output int }

// maxModels bounds a provider's list of models, in bytes.
const maxModels = 8 << 20

// limits asks a provider for a model's window. OpenAI's own list has none; those of others have, by different names:
// vLLM, https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html; OpenRouter, https://openrouter.ai/docs/api-reference/list-available-models;
// Groq, https://console.groq.com/docs/models. An error is no finding: the question was answered.
func (d *doctor) limits(ctx context.Context, m config.Model) (told modelLimits) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.BaseURL+"/models", nil)
	if err != nil {
		return told
	}
	req.Header.Set("Authorization", "Bearer "+m.APIKey.Reveal())
	for name, value := range m.Headers {
		req.Header.Set(name, value.Reveal())
	}
	resp, err := d.away.RoundTrip(req)
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

// distances sends requests and compares this machine's clock with the servers'.
type distances struct {
	next http.RoundTripper
	mu   sync.Mutex
	near time.Duration // the smallest difference, positive if this clock is ahead
	from string        // the server that it was measured against; empty: none told the time
}

func newDistances(next http.RoundTripper) *distances { return &distances{next: next} }

// RoundTrip implements http.RoundTripper.
func (d *distances) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := d.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if at, failed := http.ParseTime(resp.Header.Get("Date")); failed == nil { // whole seconds
		between := began.Add(time.Since(began) / 2)
		d.mu.Lock()
		if skew := between.Sub(at.Add(time.Second / 2)); d.from == "" || skew.Abs() < d.near.Abs() {
			d.near, d.from = skew, req.URL.Host
		}
		d.mu.Unlock()
	}
	return resp, nil
}

// A clock that is off by more than doubtfulSkew is worth a word; beyond maxSkew, messages count as old.
const (
	doubtfulSkew = 5 * time.Second
	maxSkew      = time.Minute
)

// clock judges this machine's clock by the servers that answered.
func (d *doctor) clock() finding {
	d.away.mu.Lock()
	defer d.away.mu.Unlock()
	const mend = "set the clock by the network: timedatectl set-ntp true"
	off := fmt.Sprintf("this machine's clock is %s from that of %s", d.away.near.Abs().Round(time.Second), d.away.from)
	switch {
	case d.away.from == "":
		return finding{"clock", doubt, "no server told the time", ""}
	case d.away.near.Abs() > maxSkew:
		return finding{"clock", problem, off, mend}
	case d.away.near.Abs() > doubtfulSkew:
		return finding{"clock", doubt, off, mend}
	}
	return finding{Check: "clock", State: healthy, What: "agrees with " + d.away.from}
}
