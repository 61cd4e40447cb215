package provider

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"telex/agent"
)

// Parameters returns a tool's schema, or the schema of an empty object.
func Parameters(t agent.ToolSpec) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// ImageURL returns an image as a data URL, because providers can't download the files of chats. If the image has a URL of its
// own, ImageURL returns that URL.
func ImageURL(image agent.Image) string {
	if image.URL != "" {
		return image.URL
	}
	return dataURL(image.MediaType, image.Data)
}

// FileURL returns a file as a data URL.
func FileURL(f agent.File) string { return dataURL(f.MediaType, f.Content) }

func dataURL(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// AddFloat adds a number to the fields of a request. If the number is nil, AddFloat does nothing.
func AddFloat(fields map[string]any, name string, value *float64) {
	if value != nil {
		fields[name] = *value
	}
}

// Arguments are the arguments of a call: a string that contains JSON. Some servers send the JSON object itself instead of a
// string.
type Arguments string

// UnmarshalJSON accepts a string or null. UnmarshalJSON keeps any other JSON value unchanged.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	*a = ""
	switch {
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(a))
	case string(data) != "null":
		*a = Arguments(data)
	}
	return nil
}

// Usage is the usage of an answer, with the field names of all APIs.
type Usage struct {
	Prompt            int             `json:"prompt_tokens"`
	PromptDetails     cachedTokens    `json:"prompt_tokens_details"`
	Completion        int             `json:"completion_tokens"`
	CompletionDetails reasoningTokens `json:"completion_tokens_details"`
	CacheHit          int             `json:"prompt_cache_hit_tokens"` // sent by DeepSeek
	Input             int             `json:"input_tokens"`
	InputDetails      cachedTokens    `json:"input_tokens_details"`
	Output            int             `json:"output_tokens"`
	OutputDetails     reasoningTokens `json:"output_tokens_details"`
}

type cachedTokens struct {
	Cached int `json:"cached_tokens"`
}

type reasoningTokens struct {
	Reasoning int `json:"reasoning_tokens"`
}

// Total returns the usage in the form of the package agent, or nil if the provider reported none.
func (u *Usage) Total() *agent.Usage {
	if u == nil {
		return nil
	}
	total := agent.Usage{
		Prompt: cmp.Or(u.Prompt, u.Input), Cached: cmp.Or(u.PromptDetails.Cached, u.InputDetails.Cached, u.CacheHit),
		Completion: cmp.Or(u.Completion, u.Output), Reasoning: cmp.Or(u.CompletionDetails.Reasoning, u.OutputDetails.Reasoning),
	}
	if total.Prompt == 0 && total.Completion == 0 {
		return nil
	}
	return &total
}
