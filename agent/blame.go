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

// How providers say which of a request's tools they don't take:
//
//	"Invalid schema for function 'files_read': …", param "tools[3].function.parameters" (OpenAI)
//	"tools.3.custom.input_schema: JSON schema is invalid" (Anthropic)
//	"GenerateContentRequest.tools[0].function_declarations[3].parameters.…: missing field" (Gemini)
var (
	declared  = regexp.MustCompile(`\bfunction_?[dD]eclarations\[(\d+)\]`)
	toolPlace = regexp.MustCompile(`\btools[.\[](\d+)`)
)

// refusedTool returns the one of a request's tools that a provider refused it for; ok is false for any other error.
func refusedTool(err error, tools []ToolSpec) (t ToolSpec, ok bool) {
	me := modelError(err)
	if me.Kind != BadRequest || me.Err == nil {
		return ToolSpec{}, false
	}
	text := me.Err.Error()
	at := slices.IndexFunc(tools, func(t ToolSpec) bool {
		return slices.ContainsFunc([]string{"'", `"`, "`"}, func(q string) bool { return strings.Contains(text, q+t.Name+q) })
	})
	for _, place := range []*regexp.Regexp{declared, toolPlace} {
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

// leaveOut removes something from the turn's next requests to its model, because the provider refused it.
func (r *run) leaveOut(what string) {
	if r.leftOut == nil {
		r.leftOut = make(map[string]bool)
	}
	r.leftOut[what] = true
}

// leavesOut reports whether the turn's requests leave something out.
func (r *run) leavesOut(what string) bool { return r.leftOut[what] || r.model.learned.refuses(what) }

// learnRefusals remembers what the provider refused, once it has accepted the request without it.
func (r *run) learnRefusals(ctx context.Context) {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.leftOut)) {
		if what != allCalls && what != theseImages && what != theseFiles && r.model.learned.learn(what) {
			part, _, _ := strings.Cut(what, " ")
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the provider refuses a part of the requests, leaving it out for ten minutes", slog.Any("parts", parts))
	}
}
