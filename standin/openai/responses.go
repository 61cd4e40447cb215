package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"telex/standin/rig"
)

// responsesRequest contains the fields of a request to the Responses API that the server checks or uses.
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
	chat  chatRequest // this request, converted to the form of Chat Completions
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

// These are the fields of the Responses API. Like OpenAI, the server refuses a request with any other field.
const (
	knownResponsesParams = " background context_management conversation include input instructions max_output_tokens max_tool_calls " +
		"metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options " +
		"prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text " +
		"tool_choice tools top_logprobs top_p truncation user "
	knownIncludes = " file_search_call.results web_search_call.results web_search_call.action.sources message.input_image.image_url " +
		"computer_call_output.output.image_url code_interpreter_call.outputs reasoning.encrypted_content message.output_text.logprobs "
	encryptedContent = "reasoning.encrypted_content"
)

// minOutputTokens is the smallest allowed max_output_tokens.
const minOutputTokens = 16

// serveResponses answers a request to the Responses API. The server stores no answers, so it refuses references to
// earlier answers.
func (s *Server) serveResponses(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, maxBody, func(x *exchange, body []byte) error {
		return x.converse(r, body, func() {
			r := parseResponses(body, s.opts.Models)
			x.req, x.api = &r.chat, r
		})
	})
}

// parseResponses reads and checks a request body.
func parseResponses(body []byte, models []string) *responsesRequest {
	r := new(responsesRequest)
	parse(body, knownResponsesParams, r)
	required(r.Model != "", "", "model")
	invalidIf(!slices.Contains(models, r.Model) && !slices.Contains(models, "*"), "model", "model_not_found",
		"The requested model '%s' does not exist.", r.Model)
	r.checkState()
	checkBounds([]bounds{
		{"temperature", "decimal", r.Temperature, 0, 2},
		{"top_p", "decimal", r.TopP, 0, 1},
		{"top_logprobs", "integer", toFloat(r.TopLogprobs), 0, 20},
		{"max_output_tokens", "integer", toFloat(r.MaxOutputTokens), minOutputTokens, 1 << 31},
	})
	r.checkOptions()
	r.checkTools()
	r.checkInput()
	r.chat.Model, r.chat.Stream, r.chat.MaxCompletionTokens = r.Model, r.Stream, r.MaxOutputTokens
	r.chat.Messages = messagesOf(r.Instructions, r.items)
	return r
}

// checkState refuses a request that refers to stored data, such as an earlier answer, because the server stores none.
func (r *responsesRequest) checkState() {
	if r.PreviousResponseID != nil {
		panic(invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", *r.PreviousResponseID))
	}
	rig.RefuseIf(!isNull(r.Conversation), newError(http.StatusNotFound, "invalid_request_error", "conversation", "", "Conversation not found."))
	rig.RefuseIf(!isNull(r.Prompt), newError(http.StatusNotFound, "invalid_request_error", "prompt", "", "Prompt not found."))
	invalidIf(r.Background != nil && *r.Background, "background", "unsupported_value",
		"Unsupported value: 'background' is not supported with this model.")
}

func (r *responsesRequest) checkOptions() {
	invalidIf(r.StreamOptions != nil && !r.Stream, "stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	for i, name := range r.Include {
		oneValue(fmt.Sprintf("include[%d]", i), &name, strings.Fields(knownIncludes)...)
	}
	oneValue("truncation", r.Truncation, "auto", "disabled")
	if r.Reasoning != nil {
		oneValue("reasoning.effort", r.Reasoning.Effort, "none", "minimal", "low", "medium", "high", "xhigh")
		oneValue("reasoning.generate_summary", r.Reasoning.GenerateSummary, "auto", "concise", "detailed")
		oneValue("reasoning.summary", r.Reasoning.Summary, "auto", "concise", "detailed")
	}
}

// checkTools checks the declared functions. Unlike in Chat Completions, the fields of a function are not nested.
// https://platform.openai.com/docs/guides/function-calling#strict-mode
func (r *responsesRequest) checkTools() {
	for i, raw := range r.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		var t responsesTool
		decode(raw, &t, where, "an object")
		invalidIf(t.Type != "function", where+".type", "invalid_value", "Invalid value: '%s'. This stand-in knows 'function'.", t.Type)
		required(t.Name != "", where, "name") // a client that sends the form of Chat Completions by mistake fails here
		knownFields(raw, where, " type name description parameters strict ")
		functionName(t.Name, where+".name")
		object(t.Parameters, where+".parameters")
		t.checkSchema(where + ".parameters")
		var f tool
		f.Type, f.Function.Name, f.Function.Description, f.Function.Parameters = t.Type, t.Name, t.Description, t.Parameters
		r.chat.Tools = append(r.chat.Tools, f)
	}
}

func (t responsesTool) checkSchema(param string) {
	var schema struct {
		Type                 string                     `json:"type"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	const code, wrong = "invalid_function_parameters", "Invalid schema for function '%s': "
	invalidIf(!isNull(t.Parameters) && json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object", param, code,
		wrong+"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'.", t.Name, schema.Type)
	if t.Strict == nil || !*t.Strict {
		return
	}
	invalidIf(string(schema.AdditionalProperties) != "false", param, code,
		wrong+"In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		invalidIf(!slices.Contains(schema.Required, name), param, code, wrong+"In context=(), 'required' is required to be supplied and "+
			"to be an array including every key in properties. Missing '%s'.", t.Name, name)
	}
}

// checkWindow refuses an input that does not fit into the context window. checkWindow ignores the length of the answer,
// because the answer ends where the window ends.
func (r *responsesRequest) checkWindow(b behaviour) {
	messages, functions := r.chat.promptTokens(b)
	invalidIf(b.context != 0 && messages+functions > b.context, "input", "context_length_exceeded",
		"Your input exceeds the context window of this model. Please adjust your input and try again.")
}

// If the setting "require" demands reasoning, checkDemands refuses an input in which the reasoning before a call is
// missing.
func (r *responsesRequest) checkDemands(b behaviour) {
	if !slices.Contains(b.require, "reasoning_content") {
		return
	}
	reasoned := false
	for _, item := range r.items {
		switch item.Type {
		case "reasoning":
			reasoned = true
		case "function_call":
			invalidIf(!reasoned, "input", "", "Item '%s' of type 'function_call' was provided without its required 'reasoning' item.", item.CallID)
		case "message":
			reasoned = reasoned && item.Role == "assistant"
		}
	}
}

// wants reports whether the request asks for a kind of additional output in its field include.
func (r *responsesRequest) wants(include string) bool { return slices.Contains(r.Include, include) }

// summarizes reports whether the request asks for summaries of the reasoning.
func (r *responsesRequest) summarizes() bool {
	return r.Reasoning != nil && (r.Reasoning.Summary != nil || r.Reasoning.GenerateSummary != nil)
}
