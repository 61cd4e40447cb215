package chatcompletions_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"telex/agent"
	"telex/agent/chatcompletions"
)

// streaming returns a stream of chunks. A chunk that is not JSON is sent unchanged.
func streaming(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		if !strings.HasPrefix(c, "{") {
			b.WriteString(c)
			continue
		}
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

func piece(delta string) string {
	return `{"choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}`
}

func calling(calls string) string { return piece(`"tool_calls":[` + calls + `]`) }

func ending(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
}

// wholly returns the body of an answer that is sent in one piece.
func wholly(message, reason string) string {
	return `{"choices":[{"index":0,"message":{` + message + `},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
}

const done = "data: [DONE]\n\n"

// Whatever is wrong with a stream, only complete calls run, no call runs twice, and the history is valid.
func TestInvalidStreams(t *testing.T) {
	said := streaming(piece(`"content":"Noon."`), ending("stop"), done)
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"clock","arguments":"{\"n\":%d}"}}`, i, i, i)
	}
	for _, tt := range []struct {
		name   string
		bodies []string
		ran    string
		text   string
		stop   agent.StopReason
	}{
		{
			"cut in the arguments",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{\"zo"}}`)), streaming(wholly(`"tool_calls":[{"id":"b","function":{"name":"clock","arguments":"{\"z\":1}"}}]`, "tool_calls"), done), said},
			`{"z":1}`, "Noon.", agent.StopDone,
		},
		{
			"cut behind whole calls",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}`)), streaming(wholly(`"content":"Noon."`, "stop"), done)},
			"", "Noon.", agent.StopDone,
		},
		{
			"ended at its length in the arguments",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{\"z\":1}"}},{"index":1,"id":"b","function":{"name":"clock","arguments":"{\"z\""}}`), ending("length"), done), said},
			`{"z":1}`, "Noon.", agent.StopDone,
		},
		{
			"ended at its length before the arguments",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":""}}`), ending("length"), done), said},
			"", "Noon.", agent.StopDone,
		},
		{
			"stop with calls, one id for both",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{\"z\":1}"}},{"index":1,"id":"a","function":{"name":"clock","arguments":"{\"z\":2}"}}`), ending("stop"), done), said},
			`{"z":1} {"z":2}`, "Noon.", agent.StopDone,
		},
		{
			"null among the calls",
			[]string{streaming(calling(`null,{"index":0,"id":"a","type":null,"function":null},{"index":0,"function":{"name":"clock","arguments":"{}"}}`), ending("tool_calls"), done), said},
			`{}`, "Noon.", agent.StopDone,
		},
		{
			"a call without a name",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"","arguments":"{}"}}`), ending("tool_calls"), done)},
			"", agent.DefaultLines()[agent.StopEmpty], agent.StopEmpty,
		},
		{
			"a hundred at once",
			[]string{streaming(calling(strings.Join(hundred, ",")), ending("tool_calls"), done), said},
			"100", "Noon.", agent.StopDone,
		},
		{
			"the provider's own error in the middle",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, done), streaming(wholly(`"content":"Noon."`, "stop"), done)},
			"", "Noon.", agent.StopDone,
		},
		{
			"filtered with a call",
			[]string{streaming(calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}`), ending("content_filter"), done)},
			"", agent.DefaultLines()[agent.StopFiltered], agent.StopFiltered,
		},
		{
			"another choice's call",
			[]string{streaming(`{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}]}}]}`, piece(`"content":"Noon."`), ending("stop"), done)},
			"", "Noon.", agent.StopDone,
		},
		{
			"calls after the end",
			[]string{streaming(piece(`"content":"Noon."`), ending("stop"), calling(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}`), done), said},
			"{}", "Noon.\n\nNoon.", agent.StopDone,
		},
		{
			"details of another shape",
			[]string{streaming(piece(`"reasoning_details":"x","content":"Hm. "`), piece(`"reasoning_details":[1]`), calling(`{"index":0,"id":"a","extra_content":null,"function":{"name":"clock","arguments":"{}"}}`), ending("tool_calls"), done), said},
			"{}", "Hm. \n\nNoon.", agent.StopDone,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				r := &replies{bodies: tt.bodies}
				model, err := chatcompletions.New(chatcompletions.Options{BaseURL: "http://provider/v1", Model: "m", Stream: true, Transport: r, Log: log})
				if err != nil {
					t.Fatal(err)
				}
				ran := make(chan string, 200)
				clock := agent.ToolDef{Name: "clock", ReadOnly: true, Call: func(_ context.Context, in agent.Input) (agent.Output, error) {
					ran <- in.Arguments
					return agent.Output{Text: "noon"}, nil
				}}
				a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: model}}, Tools: toolbox{clock}, MaxParallel: 1, Log: log})
				if err != nil {
					t.Fatal(err)
				}
				result, err := a.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: "hi"}}}, func(agent.Event) {})
				if err != nil || result.Text != tt.text || result.Stop != tt.stop || len(r.asked) != len(tt.bodies) {
					t.Errorf("got %s %q after %d requests, %v", result.Stop, result.Text, len(r.asked), err)
				}
				close(ran)
				var got []string
				for arguments := range ran {
					got = append(got, arguments)
				}
				if tt.ran == "100" {
					if len(got) != 100 || result.ToolCalls != 100 {
						t.Errorf("ran %d, counted %d", len(got), result.ToolCalls)
					}
				} else if strings.Join(got, " ") != tt.ran {
					t.Errorf("ran %v, want %s", got, tt.ran)
				}
				answered(t, result.Append)
			})
		})
	}
}

// answered checks that exactly one result for each call follows the calls, in the order of the calls.
func answered(t *testing.T, messages []agent.Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		if m.Role == agent.ToolRole {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("the answer to %q is out of place", m.ToolCallID)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("no answer to %v", open)
	}
}
