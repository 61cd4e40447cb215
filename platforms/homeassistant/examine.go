package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Examine returns the name and version of the installation, and a finding for each configured name that the
// installation does not have. Examine neither receives nor sends messages. The errors of Examine are *chat.SendError.
// https://developers.home-assistant.io/docs/api/rest
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	o, err := b.call(ctx, http.MethodGet, "config", nil)
	if err != nil {
		return chat.Examination{}, calls.AsRepeatable(err)
	}
	var house struct {
		Name    string `json:"location_name"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(o.Body, &house); err != nil || house.Version == "" {
		return chat.Examination{}, &chat.SendError{Kind: chat.Temporary, Err: errors.New("config: unexpected response")}
	}
	out := chat.Examination{Account: oneLine(house.Name, maxName) + " (" + oneLine(house.Version, maxName) + ")"}
	if out.Findings, err = b.findMissing(ctx); err != nil {
		return chat.Examination{}, calls.AsRepeatable(err)
	}
	return out, nil
}

// findMissing returns a finding for each configured name that the installation does not have.
func (b *Bot) findMissing(ctx context.Context) (found []chat.Finding, err error) {
	var states []state
	if err := b.read(ctx, "states", &states); err != nil {
		return nil, err
	}
	entities, domains := map[string]bool{}, map[string]bool{}
	for _, s := range states {
		entities[s.EntityID], domains[s.domain()] = true, true
	}
	lack := func(what, mend string) { found = append(found, chat.Finding{What: what, Mend: mend}) }
	for _, id := range slices.Concat(b.watcher.Entities, b.watcher.Ignore) {
		if !entities[id] {
			lack("there is no entity "+id, "correct its id in watch_entities or ignore_entities")
		}
	}
	for _, domain := range b.watcher.Domains {
		if !domains[domain] {
			lack("there is no entity of the domain "+domain, "correct watch_domains")
		}
	}
	if b.notify == "" || entities[domainNotify+"."+b.notify] {
		return found, nil
	}
	var services []struct {
		Domain   string                     `json:"domain"`
		Services map[string]json.RawMessage `json:"services"`
	}
	if err := b.read(ctx, "services", &services); err != nil {
		return nil, err
	}
	for _, s := range services {
		if _, exists := s.Services[b.notify]; exists && s.Domain == domainNotify {
			return found, nil
		}
	}
	lack("there is neither an entity nor an action notify."+b.notify, "correct notify")
	return found, nil
}

// read requests a path of the REST API, and decodes the response into v.
func (b *Bot) read(ctx context.Context, path string, v any) error {
	o, err := b.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if json.Unmarshal(o.Body, v) != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New(path + ": unexpected response")}
	}
	return nil
}
