package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
)

// chatRequest is the part of a chat completion request that is looked into.
// https://platform.openai.com/docs/api-reference/chat/create
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	PresencePenalty     *float64        `json:"presence_penalty"`
	FrequencyPenalty    *float64        `json:"frequency_penalty"`
	N                   *int            `json:"n"`
	Stop                json.RawMessage `json:"stop"`
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`

	stop []string
}

type streamOptions struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

type message struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	Name             *string         `json:"name"`
	Refusal          *string         `json:"refusal"`
	ToolCalls        []requestedCall `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningContent *string         `json:"reasoning_content"`

	text   string
	images []Image
}

type requestedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	ExtraContent struct {
		Google struct {
			ThoughtSignature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type part struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	Refusal  *string         `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
	Audio    json.RawMessage `json:"input_audio"`
	File     json.RawMessage `json:"file"`
}

// knownParams are the parameters of the API; others are refused, as OpenAI does.
const knownParams = " audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens " +
	"messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key " +
	"prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream " +
	"stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options "

var functionNameRE = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseRequest reads and checks a request body. Errors are *apiError.
func parseRequest(body []byte, models []string) (*chatRequest, error) {
	if err := knownFields(body, "", knownParams); err != nil {
		return nil, err
	}
	r := new(chatRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, wrongType(err)
	}
	if err := r.check(models); err != nil {
		return nil, err
	}
	return r, nil
}

// check finds the first thing that OpenAI would refuse.
func (r *chatRequest) check(models []string) error {
	if r.Model == "" {
		return invalid("", "", "you must provide a model parameter")
	}
	if !slices.Contains(models, r.Model) && !slices.Contains(models, "*") {
		return newError(http.StatusNotFound, "invalid_request_error", "", "model_not_found",
			fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", r.Model))
	}
	if r.Messages == nil {
		return invalid("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	}
	for _, check := range []func() error{r.checkNumbers, r.checkStream, r.checkStop, r.checkTools, r.checkMessages} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *chatRequest) checkNumbers() error {
	err := checkBounds([]bounds{
		{"temperature", "decimal", r.Temperature, 0, 2},
		{"top_p", "decimal", r.TopP, 0, 1},
		{"presence_penalty", "decimal", r.PresencePenalty, -2, 2},
		{"frequency_penalty", "decimal", r.FrequencyPenalty, -2, 2},
		{"max_tokens", "integer", toFloat(r.MaxTokens), 1, math.MaxInt32},
		{"max_completion_tokens", "integer", toFloat(r.MaxCompletionTokens), 1, math.MaxInt32},
		{"n", "integer", toFloat(r.N), 1, 1}, // OpenAI takes up to 128; nobody here asks for several answers.
	})
	if err != nil {
		return err
	}
	if r.MaxTokens != nil && r.MaxCompletionTokens != nil {
		return invalid("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	return nil
}

// bounds are those of a number in a request, which may be missing.
type bounds struct {
	name, kind string // kind is integer or decimal.
	value      *float64
	min, max   float64
}

func checkBounds(list []bounds) error {
	for _, p := range list {
		switch {
		case p.value == nil:
		case *p.value < p.min:
			return invalid(p.name, p.kind+"_below_min_value",
				"Invalid '%s': %s below minimum value. Expected a value >= %v, but got %v instead.", p.name, p.kind, p.min, *p.value)
		case *p.value > p.max:
			return invalid(p.name, p.kind+"_above_max_value",
				"Invalid '%s': %s above maximum value. Expected a value <= %v, but got %v instead.", p.name, p.kind, p.max, *p.value)
		}
	}
	return nil
}

func toFloat(n *int) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// maxTokens returns the limit of the answer in tokens, and whether there is one.
func (r *chatRequest) maxTokens() (int, bool) {
	switch {
	case r.MaxTokens != nil:
		return *r.MaxTokens, true
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens, true
	}
	return 0, false
}

func (r *chatRequest) checkStream() error {
	if r.StreamOptions != nil && !r.Stream {
		return invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	return nil
}

func (r *chatRequest) checkStop() error {
	if isNull(r.Stop) {
		return nil
	}
	var one string
	if json.Unmarshal(r.Stop, &one) == nil {
		r.stop = []string{one}
	} else if json.Unmarshal(r.Stop, &r.stop) != nil {
		return invalid("stop", "invalid_type", "Invalid type for 'stop': expected a string or an array of strings.")
	}
	if len(r.stop) > 4 {
		return invalid("stop", "array_above_max_length",
			"Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", len(r.stop))
	}
	if slices.Contains(r.stop, "") {
		return invalid("stop", "invalid_value", "Invalid 'stop': empty strings are not allowed.")
	}
	return nil
}

func (r *chatRequest) checkTools() error {
	if r.Tools != nil && len(r.Tools) == 0 {
		return invalid("tools", "empty_array",
			"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, t := range r.Tools {
		if t.Type != "function" {
			return invalid(fmt.Sprintf("tools[%d].type", i), "invalid_value",
				"Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		}
		if !functionNameRE.MatchString(t.Function.Name) {
			return invalid(fmt.Sprintf("tools[%d].function.name", i), "invalid_value",
				"Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '%s'.",
				i, functionNameRE)
		}
		if p := bytes.TrimSpace(t.Function.Parameters); !isNull(p) && p[0] != '{' {
			return invalid(fmt.Sprintf("tools[%d].function.parameters", i), "invalid_type",
				"Invalid type for 'tools[%d].function.parameters': expected an object.", i)
		}
	}
	if !isNull(r.ToolChoice) && len(r.Tools) == 0 {
		return invalid("tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	}
	return nil
}

// said returns the conversation without directives, and the settings of the last user message.
func (r *chatRequest) said() (talk []said, settings []setting, err error) {
	for _, m := range r.Messages {
		text := m.text
		if m.Role == "user" {
			var found []setting
			if text, found, err = cutDirectives(m.text); err != nil {
				return nil, nil, invalid("messages", "standin_directive", "%v", err)
			}
			settings = found
		}
		talk = append(talk, said{role: m.Role, text: text, images: m.images})
	}
	return talk, settings, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readBody reads a request body of bounded size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, newError(http.StatusRequestEntityTooLarge, "invalid_request_error", "", "", "Request body too large.")
	}
	return nil, invalid("", "", "We could not read the body of your request.")
}
