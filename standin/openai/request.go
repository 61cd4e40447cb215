package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
)

// chatRequest contains the fields of a chat completion request that the server checks or uses.
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

	text      string
	images    []Image
	documents []Document
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

// knownParams are the parameters of Chat Completions. Like OpenAI, the server refuses any other parameter.
const knownParams = " audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens " +
	"messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key " +
	"prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream " +
	"stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options "

var functionNameRE = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseRequest reads and checks a request body.
func parseRequest(body []byte, models []string) *chatRequest {
	r := new(chatRequest)
	parse(body, knownParams, r)
	invalidIf(r.Model == "", "", "", "you must provide a model parameter")
	if !slices.Contains(models, r.Model) && !slices.Contains(models, "*") {
		panic(unknownModel(r.Model))
	}
	required(r.Messages != nil, "", "messages")
	r.checkNumbers()
	invalidIf(r.StreamOptions != nil && !r.Stream, "stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	r.checkStop()
	r.checkTools()
	r.checkMessages()
	return r
}

// parse decodes a request body into r. parse refuses the request if the body contains an unknown field.
func parse(body []byte, known string, r any) {
	knownFields(body, "", known)
	err := json.Unmarshal(body, r)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		panic(wrongType(wrong.Field, fmt.Sprintf("%s, but got %s instead", wrong.Type, wrong.Value)))
	}
	if err != nil {
		panic(invalid("", "", "We could not parse the JSON body of your request: %v", err))
	}
}

func unknownModel(name string) *apiError {
	return newError(http.StatusNotFound, "invalid_request_error", "", "model_not_found",
		fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name))
}

func (r *chatRequest) checkNumbers() {
	checkBounds([]bounds{
		{"temperature", "decimal", r.Temperature, 0, 2},
		{"top_p", "decimal", r.TopP, 0, 1},
		{"presence_penalty", "decimal", r.PresencePenalty, -2, 2},
		{"frequency_penalty", "decimal", r.FrequencyPenalty, -2, 2},
		{"max_tokens", "integer", toFloat(r.MaxTokens), 1, math.MaxInt32},
		{"max_completion_tokens", "integer", toFloat(r.MaxCompletionTokens), 1, math.MaxInt32},
		{"n", "integer", toFloat(r.N), 1, 1}, // OpenAI accepts up to 128, but tests of this module never ask for several answers
	})
	invalidIf(r.MaxTokens != nil && r.MaxCompletionTokens != nil, "max_tokens", "invalid_parameter_combination",
		"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
}

// maxTokens returns the request's limit on the tokens of the answer, and whether the request contains such a limit.
func (r *chatRequest) maxTokens() (int, bool) {
	switch {
	case r.MaxTokens != nil:
		return *r.MaxTokens, true
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens, true
	}
	return 0, false
}

func (r *chatRequest) checkStop() {
	if isNull(r.Stop) {
		return
	}
	var one string
	if json.Unmarshal(r.Stop, &one) == nil {
		r.stop = []string{one}
	} else {
		decode(r.Stop, &r.stop, "stop", "a string or an array of strings")
	}
	invalidIf(len(r.stop) > 4, "stop", "array_above_max_length",
		"Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", len(r.stop))
	invalidIf(slices.Contains(r.stop, ""), "stop", "invalid_value", "Invalid 'stop': empty strings are not allowed.")
}

func (r *chatRequest) checkTools() {
	if r.Tools != nil {
		notEmpty(len(r.Tools), "tools")
	}
	for i, t := range r.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		oneValue(where+".type", &t.Type, "function")
		functionName(t.Function.Name, where+".function.name")
		object(t.Function.Parameters, where+".function.parameters")
	}
	invalidIf(!isNull(r.ToolChoice) && len(r.Tools) == 0, "tool_choice", "",
		"Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
}

// speaker matches the speaker's name, such as "[Ann] ", that telex writes before each message of a group chat.
var speaker = regexp.MustCompile(`^\[[^\]\n]{1,80}\] `)

// said returns the messages of the conversation without the names of speakers and without directives; see the package
// comment. said also returns the settings in the directives of the last user message.
func (r *chatRequest) said() (talk []said, settings []setting) {
	for _, m := range r.Messages {
		text := m.text
		if m.Role == "user" {
			var err error
			if text, settings, err = cutDirectives(m.text); err != nil {
				panic(invalid("messages", "standin_directive", "%v", err))
			}
			text = speaker.ReplaceAllString(text, "")
		}
		talk = append(talk, said{role: m.Role, text: text, images: m.images, documents: m.documents})
	}
	return talk, settings
}
