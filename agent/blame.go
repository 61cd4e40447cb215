package agent

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// If a provider refuses a request because of one tool, its error message names the tool in one of these ways:
//
//	"Invalid schema for function 'files_read': …", param "tools[3].function.parameters" (OpenAI)
//	"tools.3.custom.input_schema: JSON schema is invalid" (Anthropic)
//	"GenerateContentRequest.tools[0].function_declarations[3].parameters.…: missing field" (Gemini)
var (
	geminiToolIndex = regexp.MustCompile(`\bfunction_?[dD]eclarations\[(\d+)\]`)
	toolIndex       = regexp.MustCompile(`\btools[.\[](\d+)`)
)

// refusedTool returns the tool that the provider's error names as the reason for a refused request. ok is false if the error
// names no tool.
func refusedTool(err error, tools []ToolSpec) (t ToolSpec, ok bool) {
	me := modelError(err)
	if me.Kind != BadRequest || me.Err == nil {
		return ToolSpec{}, false
	}
	text := me.Err.Error()
	at := slices.IndexFunc(tools, func(t ToolSpec) bool {
		return slices.ContainsFunc([]string{"'", `"`, "`"}, func(q string) bool { return strings.Contains(text, q+t.Name+q) })
	})
	for _, place := range []*regexp.Regexp{geminiToolIndex, toolIndex} {
		if m := place.FindStringSubmatch(text); at < 0 && m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				at = n
			}
		}
	}
	if at < 0 || at >= len(tools) {
		return ToolSpec{}, false
	}
	return tools[at], true
}

// leaveOut makes the turn's next requests to the current model omit the given part of the request, such as all images.
func (r *run) leaveOut(what string) {
	if r.leftOut == nil {
		r.leftOut = make(map[string]bool)
	}
	r.leftOut[what] = true
}

// leavesOut reports whether the turn's requests to the current model omit the given part.
func (r *run) leavesOut(what string) bool { return r.leftOut[what] || r.model.facts.refuses(what) }

// learnRefusals is called after the provider has accepted a request without the parts that it refused before. learnRefusals
// records that the provider refuses these parts.
func (r *run) learnRefusals(ctx context.Context) {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.leftOut)) {
		if what != allCalls && what != theseImages && what != theseFiles && r.model.facts.learn(what) {
			part, _, _ := strings.Cut(what, " ")
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the provider refuses a part of the requests, leaving it out for ten minutes", slog.Any("parts", parts))
	}
}
