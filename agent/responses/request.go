package responses

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// minOutput is the smallest max_output_tokens that OpenAI accepts
// (https://platform.openai.com/docs/api-reference/responses/create).
const minOutput = 16

// shape says which form the requests to this provider must have. The first request follows OpenAI's documentation. Each time
// the provider refuses a part of a request, the shape leaves out this part for ten minutes.
type shape = provider.Shape

const (
	noStore     shape = provider.FirstOwn << iota // the server does not know the field store
	noEncrypted                                   // requests ask for no encrypted reasoning, because the model does not reason
	noSummary                                     // summaries of the reasoning are refused, or not configured
	noEcho                                        // the provider refuses requests that contain its earlier reasoning
	// unreadEcho says that the provider can't decrypt the reasoning in this request: the reasoning belongs to another key or
	// organization, or is too old. The provider may be able to decrypt the reasoning of later answers.
	unreadEcho
	// wantsPhases says that the model marks each text as an answer or as a remark before tool calls, and wants these marks
	// (phases) back.
	wantsPhases

	noStreaming   = provider.NoStreaming
	noTemperature = provider.NoTemperature
)

// newRequest returns a request without the field stream, which go-openai sets.
func newRequest(o *Options, r agent.Request, s shape) openai.CreateResponseRequest {
	req := openai.CreateResponseRequest{Model: o.Model, Instructions: r.System}
	echoed := o.Model
	if s.Has(noEcho | unreadEcho) {
		echoed = ""
	}
	req.Input = newInput(r.Messages, echoed, s.Has(wantsPhases))
	if most := o.MaxOutput(r); most > 0 {
		req.MaxOutputTokens = max(most, minOutput)
	}
	if !s.Has(noTemperature) {
		req.Temperature = o.Temperature
	}
	if !s.Has(noStore) {
		req.Store = new(false)
	}
	if !s.Has(noEncrypted) {
		req.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if !s.Has(noSummary) {
		req.Reasoning = &openai.ResponseReasoning{Summary: "auto"}
	}
	if effort := r.Params.Effort; effort != "" {
		if req.Reasoning == nil {
			req.Reasoning = &openai.ResponseReasoning{}
		}
		req.Reasoning.Effort = effort
	}
	for _, t := range r.Tools {
		req.Tools = append(req.Tools, newTool(t))
	}
	return req
}

// newParams returns the caller's parameters that the API supports. The API has no seed, no stop and no penalties
// (https://platform.openai.com/docs/api-reference/responses/create).
func newParams(r agent.Request, s shape) map[string]any {
	p, fields := r.Params, make(map[string]any)
	provider.AddFloat(fields, "top_p", p.TopP)
	if !s.Has(noTemperature) {
		provider.AddFloat(fields, "temperature", p.Temperature)
	}
	if format := newFormat(p.Format); format != nil {
		fields["text"] = map[string]any{"format": format}
	}
	if p.ParallelToolCalls != nil {
		fields["parallel_tool_calls"] = *p.ParallelToolCalls
	}
	switch {
	case p.MustCallName != "":
		fields["tool_choice"] = map[string]any{"type": "function", "name": p.MustCallName}
	case p.MustCall:
		fields["tool_choice"] = "required"
	}
	return fields
}

// newFormat converts a response_format of the Chat Completions API to this API, in which the schema's fields are not
// nested in an object.
func newFormat(format json.RawMessage) map[string]any {
	var out map[string]any
	if len(format) == 0 || json.Unmarshal(format, &out) != nil {
		return nil
	}
	if schema, ok := out["json_schema"].(map[string]any); ok {
		delete(out, "json_schema")
		maps.Copy(out, schema)
	}
	return out
}

// newTool declares a function. Functions are strict by default in this API, so newTool sets strict to false. In strict
// mode, the API changes or refuses schemas that the mode can't express
// (https://platform.openai.com/docs/guides/function-calling#strict-mode).
func newTool(t agent.ToolSpec) openai.ResponseTool {
	fields := map[string]any{"name": t.Name, "parameters": provider.Parameters(t), "strict": false}
	if t.Description != "" {
		fields["description"] = t.Description
	}
	return openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: fields}
}

// noReasoningBack matches errors of providers that can't accept reasoning in a request. Instead, such providers search for the
// reasoning in their own store, or require neighbouring items by id.
var noReasoningBack = regexp.MustCompile(`(?i)items are not persisted|without its required following item|(unknown|unsupported|invalid).{0,40}\breasoning\b`)

// adapt returns the shape without the part that the provider has just refused; ok is false if there is no such part. Each new
// shape leaves out more, so a refused request is repeated only a limited number of times.
func adapt(err error, s shape) (next shape, ok bool) {
	said := provider.RejectionIn(err)
	switch {
	case !s.Has(unreadEcho|noEcho) && provider.Named(err, "invalid_encrypted_content"):
		s |= unreadEcho
	// Check longer parameter names first, because they contain the shorter ones.
	case !s.Has(noEncrypted) && said.Refuses("encrypted_content", "reasoning.encrypted_content", "include", "include[0]"):
		s |= noEncrypted
	case !s.Has(noSummary) && said.Refuses("reasoning.summary", "reasoning"):
		s |= noSummary
	case !s.Has(noTemperature) && said.Refuses("temperature"):
		s |= noTemperature
	case !s.Has(noStreaming) && said.RefusesStreaming():
		s |= noStreaming
	case !s.Has(noStore) && said.Refuses("store"):
		s |= noStore
	case !s.Has(noEcho) && refusesReasoning(err):
		s |= noEcho
	default:
		return s, false
	}
	return s, true
}

func refusesReasoning(err error) bool {
	e, ok := errors.AsType[*provider.APIError](err)
	me, judged := errors.AsType[*agent.ModelError](err)
	return ok && judged && me.Status >= 400 && me.Status < 500 && noReasoningBack.MatchString(e.Message)
}
