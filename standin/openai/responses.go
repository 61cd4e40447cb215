package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// responsesRequest is the part of a request of the Responses API that is looked into.
// https://platform.openai.com/docs/api-reference/responses/create
type responsesRequest struct {
	Model              string                  `json:"model"`
	Input              json.RawMessage         `json:"input"`
	Instructions       *string                 `json:"instructions"`
	Stream             bool                    `json:"stream"`
	StreamOptions      *responsesStreamOptions `json:"stream_options"`
	MaxOutputTokens    *int                    `json:"max_output_tokens"`
	Temperature        *float64                `json:"temperature"`
	TopP               *float64                `json:"top_p"`
	TopLogprobs        *int                    `json:"top_logprobs"`
	Tools              []json.RawMessage       `json:"tools"`
	ToolChoice         json.RawMessage         `json:"tool_choice"`
	Include            []string                `json:"include"`
	Store              *bool                   `json:"store"`
	Background         *bool                   `json:"background"`
	Reasoning          *responsesReasoning     `json:"reasoning"`
	Metadata           map[string]string       `json:"metadata"`
	Truncation         *string                 `json:"truncation"`
	ParallelToolCalls  *bool                   `json:"parallel_tool_calls"`
	PreviousResponseID *string                 `json:"previous_response_id"`
	Conversation       json.RawMessage         `json:"conversation"`
	Prompt             json.RawMessage         `json:"prompt"`

	items []inputItem
	chat  chatRequest // the same in the words of Chat Completions
}

type responsesStreamOptions struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

type responsesReasoning struct {
	Effort          *string `json:"effort"`
	Summary         *string `json:"summary"`
	GenerateSummary *string `json:"generate_summary"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// What the API knows; anything else is refused, as OpenAI does.
const (
	knownResponsesParams = " background context_management conversation include input instructions max_output_tokens max_tool_calls " +
		"metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options " +
		"prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text " +
		"tool_choice tools top_logprobs top_p truncation user "
	knownIncludes = " file_search_call.results web_search_call.results web_search_call.action.sources message.input_image.image_url " +
		"computer_call_output.output.image_url code_interpreter_call.outputs reasoning.encrypted_content message.output_text.logprobs "
	encryptedContent = "reasoning.encrypted_content"
)

// minOutputTokens is the least that max_output_tokens may be.
const minOutputTokens = 16

// serveResponses answers a request of the Responses API. Nothing is stored: whatever refers to an
// earlier answer is not found.
func (s *Server) serveResponses(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, func(x *exchange, body []byte) (err error) {
		if x.resp, err = parseResponses(body, s.opts.Models); err != nil {
			return err
		}
		x.req = &x.resp.chat
		return nil
	})
}

// parseResponses reads and checks a request body. Errors are *apiError.
func parseResponses(body []byte, models []string) (*responsesRequest, error) {
	if err := knownFields(body, "", knownResponsesParams); err != nil {
		return nil, err
	}
	r := new(responsesRequest)
	if err := json.Unmarshal(body, r); err != nil {
		return nil, wrongType(err)
	}
	switch {
	case r.Model == "":
		return nil, invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case !slices.Contains(models, r.Model) && !slices.Contains(models, "*"):
		return nil, newError(http.StatusBadRequest, "invalid_request_error", "model", "model_not_found",
			fmt.Sprintf("The requested model '%s' does not exist.", r.Model))
	}
	for _, check := range []func() error{r.checkState, r.checkNumbers, r.checkOptions, r.checkTools, r.checkInput} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	r.chat.Model, r.chat.Stream, r.chat.MaxCompletionTokens = r.Model, r.Stream, r.MaxOutputTokens
	r.chat.Messages = messagesOf(r.Instructions, r.items)
	return r, nil
}

// knownFields refuses an object with fields that the API does not know.
func knownFields(object []byte, where, known string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		if where == "" {
			return invalid("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't "+
				"using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
		}
		return invalid(where, "invalid_type", "Invalid type for '%s': expected an object.", where)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !strings.Contains(known, " "+name+" ") {
			if where != "" {
				name = where + "." + name
			}
			return invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		}
	}
	return nil
}

func wrongType(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(wrong.Field, "invalid_type", "Invalid type for '%s': expected %s, but got %s instead.",
			wrong.Field, wrong.Type, wrong.Value)
	}
	return invalid("", "", "We could not parse the JSON body of your request: %v", err)
}

// checkState refuses what refers to something stored.
func (r *responsesRequest) checkState() error {
	switch {
	case r.PreviousResponseID != nil:
		return invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", *r.PreviousResponseID)
	case !isNull(r.Conversation):
		return newError(http.StatusNotFound, "invalid_request_error", "conversation", "", "Conversation not found.")
	case !isNull(r.Prompt):
		return newError(http.StatusNotFound, "invalid_request_error", "prompt", "", "Prompt not found.")
	case r.Background != nil && *r.Background:
		return invalid("background", "unsupported_value", "Unsupported value: 'background' is not supported with this model.")
	}
	return nil
}

func (r *responsesRequest) checkNumbers() error {
	return checkBounds([]bounds{
		{"temperature", "decimal", r.Temperature, 0, 2},
		{"top_p", "decimal", r.TopP, 0, 1},
		{"top_logprobs", "integer", toFloat(r.TopLogprobs), 0, 20},
		{"max_output_tokens", "integer", toFloat(r.MaxOutputTokens), minOutputTokens, 1 << 31},
	})
}

func (r *responsesRequest) checkOptions() error {
	if r.StreamOptions != nil && !r.Stream {
		return invalid("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for i, name := range r.Include {
		if !strings.Contains(knownIncludes, " "+name+" ") {
			return invalid(fmt.Sprintf("include[%d]", i), "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.",
				name, strings.Join(strings.Fields(knownIncludes), "', '"))
		}
	}
	if r.Truncation != nil {
		if err := oneValue("truncation", r.Truncation, "auto", "disabled"); err != nil {
			return err
		}
	}
	if r.Reasoning == nil {
		return nil
	}
	if err := oneValue("reasoning.effort", r.Reasoning.Effort, "none", "minimal", "low", "medium", "high", "xhigh"); err != nil {
		return err
	}
	if err := oneValue("reasoning.generate_summary", r.Reasoning.GenerateSummary, "auto", "concise", "detailed"); err != nil {
		return err
	}
	return oneValue("reasoning.summary", r.Reasoning.Summary, "auto", "concise", "detailed")
}

func oneValue(param string, value *string, allowed ...string) error {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return invalid(param, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", *value, strings.Join(allowed, "', '"))
}

// checkTools checks the declared functions, which lie flat here, and are strict where they say so.
// https://platform.openai.com/docs/guides/function-calling#strict-mode
func (r *responsesRequest) checkTools() error {
	for i, raw := range r.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		var t responsesTool
		if err := json.Unmarshal(raw, &t); err != nil {
			return invalid(where, "invalid_type", "Invalid type for '%s': expected an object.", where)
		}
		if t.Type != "function" {
			return invalid(where+".type", "invalid_value", "Invalid value: '%s'. This stand-in knows 'function'.", t.Type)
		}
		if t.Name == "" { // the usual mistake: the form of Chat Completions
			return invalid(where+".name", "missing_required_parameter", "Missing required parameter: '%s.name'.", where)
		}
		if err := knownFields(raw, where, " type name description parameters strict "); err != nil {
			return err
		}
		if !functionNameRE.MatchString(t.Name) {
			return invalid(where+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string "+
				"that matches the pattern '%s'.", where, functionNameRE)
		}
		if p := bytes.TrimSpace(t.Parameters); !isNull(p) && p[0] != '{' {
			return invalid(where+".parameters", "invalid_type", "Invalid type for '%s.parameters': expected an object.", where)
		}
		if err := t.checkSchema(where); err != nil {
			return err
		}
		var f tool
		f.Type, f.Function.Name, f.Function.Description, f.Function.Parameters = t.Type, t.Name, t.Description, t.Parameters
		r.chat.Tools = append(r.chat.Tools, f)
	}
	return nil
}

func (t responsesTool) checkSchema(where string) error {
	var schema struct {
		Type                 string                     `json:"type"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	if !isNull(t.Parameters) && json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object" {
		return invalid(where+".parameters", "invalid_function_parameters",
			"Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'.", t.Name, schema.Type)
	}
	if t.Strict == nil || !*t.Strict {
		return nil
	}
	if string(schema.AdditionalProperties) != "false" {
		return invalid(where+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': In context=(), "+
			"'additionalProperties' is required to be supplied and to be false.", t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains(schema.Required, name) {
			return invalid(where+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': In context=(), "+
				"'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", t.Name, name)
		}
	}
	return nil
}

// checkWindow refuses an input that doesn't fit into the context window. What the answer may have is
// not counted: it ends where the window does.
func (r *responsesRequest) checkWindow(b behaviour) error {
	messages, functions := r.chat.promptTokens(b)
	if b.context == 0 || messages+functions <= b.context {
		return nil
	}
	return invalid("input", "context_length_exceeded",
		"Your input exceeds the context window of this model. Please adjust your input and try again.")
}

// checkDemands refuses calls that come back without the reasoning that led to them.
func (r *responsesRequest) checkDemands(b behaviour) error {
	if !slices.Contains(b.require, "reasoning_content") {
		return nil
	}
	reasoned := false
	for _, item := range r.items {
		switch item.Type {
		case "reasoning":
			reasoned = true
		case "function_call":
			if !reasoned {
				return invalid("input", "", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", item.CallID)
			}
		case "message":
			reasoned = reasoned && item.Role == "assistant"
		}
	}
	return nil
}

// wants reports whether the request includes something.
func (r *responsesRequest) wants(include string) bool { return slices.Contains(r.Include, include) }

// summarizes reports whether summaries of the reasoning were asked for.
func (r *responsesRequest) summarizes() bool {
	return r.Reasoning != nil && (r.Reasoning.Summary != nil || r.Reasoning.GenerateSummary != nil)
}
