package config

// Model is one entry of the chain of models.
type Model struct {
	Name            string            `yaml:"name" required:"true"` // shown by /model
	API             string            `yaml:"api" enum:"chat_completions|responses"`
	BaseURL         string            `yaml:"base_url"` // without a slash at the end
	APIKey          Secret            `yaml:"api_key"`  // may be empty only for a base_url on this machine
	Model           string            `yaml:"model" required:"true"`
	ContextWindow   int               `yaml:"context_window" min:"1" max:"100000000"`    // tokens
	MaxOutputTokens int               `yaml:"max_output_tokens" min:"0" max:"100000000"` // tokens; 0: the provider's own limit
	Temperature     *float64          `yaml:"temperature" min:"0" max:"2"`               // nil: the provider's own
	Stream          bool              `yaml:"stream"`
	Headers         map[string]Secret `yaml:"headers"` // added to every request
}

func (m *Model) setDefaults() {
	*m = Model{
		API: "chat_completions", BaseURL: "https://api.openai.com/v1",
		ContextWindow: 128_000, Stream: true,
		Headers: map[string]Secret{},
	}
}

// Transcription is the model that turns voice messages into text; off when Model is empty. Without an address
// of its own it is where the first model is, with that one's key.
type Transcription struct {
	Model   string `yaml:"model"`
	BaseURL string `yaml:"base_url"`
	APIKey  Secret `yaml:"api_key" allow:"empty"`
}
