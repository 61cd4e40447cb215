package config

// Model configures one of the models.
type Model struct {
	Name            string            `yaml:"name" required:"true"` // the name that people see and choose with /model
	API             string            `yaml:"api" enum:"chat_completions|responses"`
	BaseURL         string            `yaml:"base_url"` // without a trailing slash
	APIKey          Secret            `yaml:"api_key"`  // may be empty only if base_url points to this machine
	Model           string            `yaml:"model" required:"true"`
	ContextWindow   int               `yaml:"context_window" min:"1" max:"100000000"`    // in tokens
	MaxOutputTokens int               `yaml:"max_output_tokens" min:"0" max:"100000000"` // in tokens; 0: the provider's limit
	Temperature     *float64          `yaml:"temperature" min:"0" max:"2"`               // nil: the provider's default
	Stream          bool              `yaml:"stream"`
	Headers         map[string]Secret `yaml:"headers"` // HTTP headers that telex adds to every request
}

func (m *Model) setDefaults() {
	*m = Model{
		API: "chat_completions", BaseURL: "https://api.openai.com/v1",
		ContextWindow: 128_000, Stream: true,
		Headers: map[string]Secret{},
	}
}

// Transcription configures the model that converts voice messages to text. If Model is empty, telex does not transcribe voice
// messages. If base_url is not set, telex uses the base_url and the key of the first configured model.
type Transcription struct {
	Model   string `yaml:"model"`
	BaseURL string `yaml:"base_url"`
	APIKey  Secret `yaml:"api_key" allow:"empty"`
}
