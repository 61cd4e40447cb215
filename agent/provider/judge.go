package provider

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"telex/agent"
)

// noImages matches errors of models that accept no images. llama.cpp sends the error "image input is not supported" with status
// 500 (https://github.com/ggml-org/llama.cpp, tools/server).
var noImages = regexp.MustCompile(`(?i)\bimages?\b.{0,40}\bnot supported`)

// noTools matches the errors with which servers say that a model supports no tools:
//
//	"registry.ollama.ai/library/gemma:2b does not support tools" (https://github.com/ollama/ollama, server/images.go)
//	"No endpoints found that support tool use" (OpenRouter, a 404)
//	`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set` (https://github.com/vllm-project/vllm)
//	"tools param requires --jinja flag" (https://github.com/ggml-org/llama.cpp, a 500)
//	"`tool calling` is not supported with this model" (Groq)
//	"Function calling is not enabled for models/gemma-3-27b-it" (Gemini, Mistral)
//	"deepseek-reasoner does not support Function Calling" (DeepSeek)
var noTools = regexp.MustCompile(`(?i)\b(tools?|tool.?(use|choice|call(s|ing)?)|functions?|function.?call(s|ing)?)\b.{0,30}` +
	`\b(not (supported|enabled|available|allowed)|unsupported|requires? --)|` +
	`(not support|unsupported|no endpoints found that support).{0,40}\b(tools?|tool.?(use|choice|call(s|ing)?)|functions?|function.?call(s|ing)?)\b`)

// badImage matches errors about one image or one file that can't be used.
var badImage = regexp.MustCompile(`(?i)(could not|cannot|can't|unable to|failed to) (process|decode|load|read|parse|identify) (the )?(input )?(image|file|pdf|document)|(image|file).{0,40}(too large|exceeds)`)

// tooLong matches the errors with which providers say that a request does not fit the model's window:
//
//	"This model's maximum context length is 8192 tokens. However, …" (OpenAI, vLLM, DeepSeek)
//	"Your input exceeds the context window of this model." (OpenAI's Responses API)
//	"Input tokens exceed the configured limit of 272000 tokens." (OpenAI)
//	"This endpoint's maximum context length is 131072 tokens." (OpenRouter)
//	"prompt is too long: 208310 tokens > 200000 maximum" (Anthropic, https://github.com/anthropics/claude-code/issues/12186)
//	"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000" (Anthropic,
//	https://github.com/docker/docker-agent/issues/569)
//	"The input token count (1054016) exceeds the maximum number of tokens allowed (1048576)." (Gemini,
//	https://github.com/google-gemini/gemini-cli/issues/13006)
//	"This model's maximum prompt length is 131072 but the request contains 136973 tokens." (xAI,
//	https://github.com/cline/cline/issues/3120)
//	"Input is too long for requested model." (Bedrock, https://github.com/aws-samples/bedrock-chat/issues/95)
//	"Please reduce the length of the messages or completion." (Groq)
//	"`inputs` tokens + `max_new_tokens` must be <= 2048." (text-generation-inference,
//	https://github.com/huggingface/llm-vscode/issues/94)
//	"the request exceeds the available context size" (llama.cpp)
//	"Prompt contains 40000 tokens …, too large for model with 32768 maximum context length" (Mistral)
var tooLong = regexp.MustCompile(`(?i)context.?(length|window|size|limit)|maximum context|maximum prompt length|too many (input )?tokens|` +
	`(prompt|input) is too long|input token count.{0,40}exceeds|input tokens exceed|reduce the length of (the|your) (messages|prompt|input)|` +
	"`inputs` tokens \\+ `max_new_tokens` must be|token limit exceeded|exceeded model token limit")

// windowIn finds the size of the window, in tokens, in a message that tooLong matches.
var windowIn = regexp.MustCompile(`(?i)maximum context length (?:is|of) ([\d,]+)|maximum prompt length is ([\d,]+)|tokens > ([\d,]+) maximum|` +
	`context limit: [\d,]+ \+ [\d,]+ > ([\d,]+)|maximum number of tokens allowed \(([\d,]+)\)|configured limit of ([\d,]+)|` +
	`max_new_tokens\W* must be <= ([\d,]+)|([\d,]+) maximum context length`)

// tooLarge matches the error about a single request that exceeds the account's token limit per minute. Retries of a request of
// this size are useless, and the limit says nothing about the model's context window. Groq sends this error with status 413
// (https://github.com/continuedev/continue/issues/10218), OpenAI with status 429
// (https://github.com/vanna-ai/vanna-flask/issues/11). tooLarge does not match a message that says how much of the limit is
// already used, because in that case waiting helps.
var tooLarge = regexp.MustCompile(`(?i)(?:tokens per min(?:ute)?|\bTPM\b).{0,40}\blimit:? ([\d,]+), requested:? ([\d,]+)`)

// noCredit matches errors about an account without money, with any HTTP status (xAI: a 429 or a 403,
// https://github.com/continuedev/continue/issues/10373, https://github.com/warpdotdev/warp/issues/14867; Anthropic: a
// 400; OpenRouter: a 402 or a 403).
var noCredit = regexp.MustCompile(`(?i)used all available credits|(insufficient|not enough|out of|doesn't have any) credits?|` +
	`credit balance is too low|monthly spending limit|key limit exceeded|insufficient (balance|funds)`)

// moderation matches errors about a request that was stopped for its content, such as "Your chosen model requires moderation
// and your input was flagged" (OpenRouter, https://openrouter.ai/docs/errors) and "Content violates usage guidelines" (xAI).
var moderation = regexp.MustCompile(`(?i)moderation|(content|prompt|input|request|message) (violates|(was|were|has been|is) (blocked|flagged))|` +
	`violates? .{0,20}(usage guidelines|(usage|content) polic)|content (filter|policy)|prompt injection`)

// number parses a number with commas, and returns 0 for anything else.
func number(s string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	if err != nil {
		return 0
	}
	return n
}

// exceedsMinuteLimit reports whether a single request exceeds the account's token limit per minute, and returns that limit.
func exceedsMinuteLimit(e *APIError) (limit int, ok bool) {
	m := tooLarge.FindStringSubmatch(e.Message)
	if m == nil {
		return 0, false
	}
	limit = number(m[1])
	return limit, number(m[2]) > limit
}

// limitIn returns how many tokens a request may have, according to the error about a request that was too long. limitIn
// returns 0 if the error contains no limit.
func limitIn(e *APIError) int {
	if limit, ok := exceedsMinuteLimit(e); ok {
		return limit
	}
	if n := number(string(e.Window)); n > 0 {
		return n
	}
	if m := windowIn.FindStringSubmatch(e.Message); m != nil {
		return number(strings.Join(m[1:], "")) // exactly one group is not empty
	}
	return 0
}

// flagged reports whether the error contains reasons why moderation stopped the request.
func (e *APIError) flagged() bool {
	var m struct {
		Reasons []string `json:"reasons"`
	}
	return json.Unmarshal(e.Metadata, &m) == nil && len(m.Reasons) > 0
}

func isTooLarge(e *APIError) bool {
	_, ok := exceedsMinuteLimit(e)
	return ok
}

// kindOf classifies an error answer.
func kindOf(status int, e *APIError) agent.ErrorKind {
	switch {
	case e.named("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "moderation_blocked",
		"invalid_prompt", "image_content_policy_violation"): // error codes of the Responses API

		return agent.Filtered
	case status == http.StatusForbidden && (e.flagged() || moderation.MatchString(e.Message)):
		return agent.Filtered
	case status >= 400 && status < 500 && noCredit.MatchString(e.Message):
		return agent.Quota
	case e.named("insufficient_quota", "billing_hard_limit_reached", "insufficient_credits"), status == http.StatusPaymentRequired:
		return agent.Quota // OpenAI sends this error as a 429, but waiting does not help
	case isTooLarge(e):
		return agent.TooLarge
	case e.named("rate_limit_exceeded", "rate_limit_error", "too_many_requests"), status == http.StatusTooManyRequests:
		return agent.RateLimited
	case e.named("context_length_exceeded", "exceed_context_size_error"),
		status < 500 && status != http.StatusUnauthorized && tooLong.MatchString(e.Message):
		return agent.ContextLength
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return agent.Auth
	case status == http.StatusRequestEntityTooLarge,
		e.named("invalid_image_format", "invalid_image", "invalid_image_url", "invalid_base64", "image_parse_error", "image_too_large",
			// https://platform.openai.com/docs/api-reference/responses/object (error.code)
			"invalid_base64_image", "invalid_image_mode", "image_too_small", "image_file_too_large", "unsupported_image_media_type",
			"empty_image_file", "failed_to_download_image", "image_file_not_found"),
		status < 500 && badImage.MatchString(e.Message):
		return agent.BadImage
	case status < 500 && (e.Param == "tools" || e.Param == "tool_choice") && refusal.MatchString(e.Message),
		(status < 500 || status == http.StatusInternalServerError) && status != http.StatusOK && noTools.MatchString(e.Message):
		return agent.NoTools
	case status == http.StatusInternalServerError && noImages.MatchString(e.Message):
		return agent.BadRequest
	case e.named("server_is_overloaded", "slow_down", "service_unavailable_error"),
		status == http.StatusOK, // an error inside a stream, without a status of its own
		status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return agent.Retryable
	default:
		return agent.BadRequest
	}
}
