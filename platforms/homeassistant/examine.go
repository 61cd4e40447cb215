package homeassistant

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Examine returns what Home Assistant says about the installation. It receives and sends nothing. Errors are a
// *chat.SendError. https://developers.home-assistant.io/docs/api/rest
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	o, err := b.call(ctx, http.MethodGet, "config", nil)
	if err != nil {
		return chat.Examination{}, calls.Repeatable(err)
	}
	var house struct {
		Name    string `json:"location_name"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(o.Body, &house); err != nil || house.Version == "" {
		return chat.Examination{}, &chat.SendError{Kind: chat.Temporary, Err: errors.New("config: the answer is not Home Assistant's")}
	}
	return chat.Examination{Account: house.Name + " (" + house.Version + ")"}, nil
}
