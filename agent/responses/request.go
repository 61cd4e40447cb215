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

// minOutput is the least that OpenAI takes as max_output_tokens
// (https://platform.openai.com/docs/api-reference/responses/create).
const minOutput = 16

// shape is how a request must look for this provider. It begins with the API as OpenAI
// documents it and loses what the provider refuses, one thing at a time, for ten minutes.
type shape = provider.Shape

const (
	noStore     shape = provider.FirstOwn << iota // the server knows no storing
	noEncrypted                                   // reasoning can't be had encrypted: models that don't reason
	noSummary                                     // no summaries of the reasoning, or nobody asks for them
	noEcho                                        // reasoning is not taken back
	// unreadEcho says that the reasoning in this one request can't be read: it is of another key or organization, or too old.
	// What is encrypted from now on may be good again.
	unreadEcho
	// wantsPhases says that the model tells its remarks on the way from its answers, and wants to be told them apart.
	wantsPhases

	noStreaming   = provider.NoStreaming
	noTemperature = provider.NoTemperature
)

// newRequest builds what is asked. Streaming is go-openai's to say.
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

// newParams returns what the asker wants of the answer, as far as the API has it: no seed, no stop and no penalties
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

// newFormat returns a response_format of the Chat Completions API as this one wants it: a schema stands beside its type, and not in
// an object of its own.
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

// newTool declares a function. The API takes functions for strict ones unless they say otherwise,
// and then bends or refuses schemas that strict mode can't express
// (https://platform.openai.com/docs/guides/function-calling#strict-mode).
func newTool(t agent.ToolSpec) openai.ResponseTool {
	fields := map[string]any{"name": t.Name, "parameters": provider.Parameters(t), "strict": false}
	if t.Description != "" {
		fields["description"] = t.Description
	}
	return openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: fields}
}

// noReasoningBack matches how servers say that they can't do with reasoning that comes back: they look for
// it in a store, or want it beside what they know by id.
var noReasoningBack = regexp.MustCompile(`(?i)items are not persisted|without its required following item|(unknown|unsupported|invalid).{0,40}\breasoning\b`)

// concede returns the shape without what the provider has just refused; ok says whether there
// is something to concede. As shapes only lose things, asking again in the new shape ends.
func concede(err error, s shape) (next shape, ok bool) {
	said := provider.RejectionIn(err)
	switch {
	case !s.Has(unreadEcho|noEcho) && provider.Named(err, "invalid_encrypted_content"):
		s |= unreadEcho
	// The longer names first: they hold the shorter ones.
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
