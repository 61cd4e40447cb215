package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// spoken is what a strict client reads from the stream of an answer.
type spoken struct {
	text, reasoning, refusal string
	calls                    []string // each has the form "id name arguments"
	finish                   string
	usage                    int // total number of tokens; -1: the stream contained no usage
	failed                   string
}

// checkChat reads a stream of chunks as strictly as the official SDKs, and returns an error if the stream breaks a
// rule. The stream must begin with the role. The first piece of a tool call must have an index, a type, an id and a
// name. The stream must end with one finish_reason, the usage if it was requested, and [DONE].
func checkChat(stream []event, usage bool) (s spoken, err error) {
	type call struct{ id, name, arguments string }
	var calls []*call
	role, id, done := "", "", false
	s.usage = -1
	for i, e := range stream {
		switch {
		case e.name != "":
			return s, fmt.Errorf("event %d has the name %s: SDKs take it for a chunk", i, e.name)
		case done:
			return s, fmt.Errorf("event %d behind the end: %s", i, e.data)
		case e.data == "[DONE]":
			done = true
			continue
		}
		var c struct {
			Error   *errorBody
			ID      string
			Object  string
			Created *int64
			Model   string
			Choices []struct {
				Index int
				Delta *struct {
					Role             string
					Content, Refusal *string
					ReasoningContent string `json:"reasoning_content"`
					ToolCalls        []struct {
						Index    *int
						ID, Type string
						Function *struct {
							Name      string
							Arguments *string
						}
					} `json:"tool_calls"`
				}
				FinishReason *string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			return s, fmt.Errorf("event %d: %w: %s", i, err, e.data)
		}
		if c.Error != nil {
			s.failed = c.Error.Message
			if i != len(stream)-1 {
				return s, fmt.Errorf("data behind the error: %s", stream[i+1].data)
			}
			return s, nil
		}
		if id == "" {
			id = c.ID
		}
		if c.ID == "" || c.ID != id || c.Object != "chat.completion.chunk" || c.Created == nil || c.Model == "" || c.Choices == nil {
			return s, fmt.Errorf("event %d is no chunk of %s: %s", i, id, e.data)
		}
		if len(c.Choices) == 0 {
			var u chatUsage
			if err := json.Unmarshal(c.Usage, &u); err != nil || !usage || s.finish == "" || s.usage >= 0 {
				return s, fmt.Errorf("event %d: usage %s: %w", i, c.Usage, err)
			}
			s.usage = u.Total
			continue
		}
		if got := string(c.Usage); got != "" && got != "null" || usage != (got == "null") {
			return s, fmt.Errorf("event %d: usage %q", i, got)
		}
		choice := c.Choices[0]
		if len(c.Choices) != 1 || choice.Index != 0 || choice.Delta == nil || s.finish != "" {
			return s, fmt.Errorf("event %d: %s", i, e.data)
		}
		d := choice.Delta
		if role == "" && d.Role != "assistant" {
			return s, fmt.Errorf("the first delta has no role: %s", e.data)
		} else if role != "" && d.Role != "" {
			return s, fmt.Errorf("a second role: %s", e.data)
		}
		role = "assistant"
		if d.Content != nil {
			s.text += *d.Content
		}
		if d.Refusal != nil {
			s.refusal += *d.Refusal
		}
		s.reasoning += d.ReasoningContent
		for _, t := range d.ToolCalls {
			switch {
			case t.Index == nil || *t.Index < 0 || *t.Index > len(calls) || t.Function == nil || t.Function.Arguments == nil:
				return s, fmt.Errorf("event %d: call %s", i, e.data)
			case *t.Index == len(calls):
				if t.ID == "" || t.Type != "function" || t.Function.Name == "" {
					return s, fmt.Errorf("event %d: the first piece of a call lacks something: %s", i, e.data)
				}
				calls = append(calls, &call{id: t.ID, name: t.Function.Name})
			case t.ID != "" || t.Function.Name != "":
				return s, fmt.Errorf("event %d: a later piece of a call repeats its id or name: %s", i, e.data)
			}
			calls[*t.Index].arguments += *t.Function.Arguments
		}
		if choice.FinishReason != nil {
			s.finish = *choice.FinishReason
		}
	}
	for _, c := range calls {
		s.calls = append(s.calls, strings.Join([]string{c.id, c.name, c.arguments}, " "))
	}
	if !done || s.finish == "" || usage != (s.usage >= 0) || (s.finish == "tool_calls") != (len(calls) > 0) && s.finish != "length" {
		return s, fmt.Errorf("the stream ends with finish %q, usage %d, done %v", s.finish, s.usage, done)
	}
	return s, nil
}

// itemState is an output item that is being written.
type itemState struct {
	id, kind, text, part string
	status               string // empty until the stream says that the item is complete
}

// checkResponse reads a stream of the Responses API as strictly as the official SDKs, and returns an error if the
// stream breaks a rule.
func checkResponse(stream []event) (s spoken, err error) {
	var items []*itemState
	id, ended := "", false
	for i, e := range stream {
		var r struct {
			Type     string
			Sequence *int `json:"sequence_number"`
			Response *struct {
				ID, Status, Object string
				Output             []json.RawMessage
				Error              *responseError
				Usage              *responseUsage
			}
			OutputIndex  *int   `json:"output_index"`
			ItemID       string `json:"item_id"`
			ContentIndex *int   `json:"content_index"`
			SummaryIndex *int   `json:"summary_index"`
			Item         *struct {
				ID, Type, Status, Name, Arguments string
				CallID                            string `json:"call_id"`
			}
			Part                            *struct{ Type, Text, Refusal string }
			Delta, Text, Refusal, Arguments *string
			Message                         string
		}
		fail := func(why string) (spoken, error) { return s, fmt.Errorf("event %d: %s: %s", i, why, e.data) }
		if err := json.Unmarshal([]byte(e.data), &r); err != nil {
			return fail(err.Error())
		}
		switch {
		case r.Type != e.name:
			return fail("the name of the event is " + e.name)
		case r.Sequence == nil || *r.Sequence != i:
			return fail("sequence number")
		case (i == 0) != (r.Type == "response.created"):
			return fail("response.created is the first event, and no other one")
		case (i == 1) != (r.Type == "response.in_progress"):
			return fail("response.in_progress is the second event, and no other one")
		case ended:
			return fail("behind the end")
		}
		if r.Response != nil {
			if id == "" {
				id = r.Response.ID
			}
			if r.Response.ID != id || id == "" || r.Response.Object != "response" || r.Response.Output == nil {
				return fail("the response is another one")
			}
		}
		var it *itemState
		if r.OutputIndex != nil && r.Type != "response.output_item.added" {
			if *r.OutputIndex >= len(items) {
				return fail("missing output at index")
			}
			it = items[*r.OutputIndex]
			if r.ItemID != "" && r.ItemID != it.id || r.Item != nil && r.Item.ID != it.id {
				return fail("another item's id")
			}
			if it.status != "" {
				return fail("the item is done")
			}
		}
		needs := func(part string, index *int) bool {
			return it != nil && it.part == part && index != nil && *index == 0 && r.ItemID != ""
		}
		switch r.Type {
		case "response.created", "response.in_progress":
			if r.Response.Status != "in_progress" {
				return fail("status")
			}
		case "response.output_item.added":
			if r.OutputIndex == nil || *r.OutputIndex != len(items) || r.Item.ID == "" || slices.ContainsFunc(items, func(o *itemState) bool { return o.id == r.Item.ID }) {
				return fail("output_index or id")
			}
			if r.Item.Type == "function_call" && (r.Item.CallID == "" || r.Item.Name == "" || r.Item.Arguments != "") {
				return fail("call")
			}
			items = append(items, &itemState{id: r.Item.ID, kind: r.Item.Type})
			if r.Item.Type == "function_call" {
				s.calls = append(s.calls, r.Item.CallID+" "+r.Item.Name+" ")
			}
		case "response.content_part.added":
			if it == nil || it.kind != "message" || it.part != "" || r.ContentIndex == nil {
				return fail("part")
			}
			it.part = r.Part.Type
		case "response.reasoning_summary_part.added":
			if it == nil || it.kind != "reasoning" || it.part != "" || r.SummaryIndex == nil {
				return fail("part")
			}
			it.part = r.Part.Type
		case "response.output_text.delta":
			if !needs("output_text", r.ContentIndex) || *r.Delta == "" {
				return fail("delta")
			}
			it.text += *r.Delta
			s.text += *r.Delta
		case "response.refusal.delta":
			if !needs("refusal", r.ContentIndex) {
				return fail("delta")
			}
			it.text += *r.Delta
			s.refusal += *r.Delta
		case "response.reasoning_summary_text.delta":
			if !needs("summary_text", r.SummaryIndex) {
				return fail("delta")
			}
			it.text += *r.Delta
			s.reasoning += *r.Delta
		case "response.function_call_arguments.delta":
			if it == nil || it.kind != "function_call" || r.ItemID == "" {
				return fail("delta")
			}
			it.text += *r.Delta
		case "response.output_text.done", "response.reasoning_summary_text.done":
			if *r.Text != it.text {
				return fail("another text than " + it.text)
			}
		case "response.refusal.done":
			if *r.Refusal != it.text {
				return fail("another text than " + it.text)
			}
		case "response.function_call_arguments.done":
			if *r.Arguments != it.text {
				return fail("other arguments than " + it.text)
			}
		case "response.content_part.done", "response.reasoning_summary_part.done":
			if r.Part.Type != it.part || r.Part.Text+r.Part.Refusal != it.text {
				return fail("part")
			}
		case "response.output_item.done":
			it.status = r.Item.Status
			if r.Item.Type != it.kind || it.status == "" && it.kind != "reasoning" || it.status == "in_progress" {
				return fail("type or status")
			}
			if it.kind == "reasoning" {
				it.status = "completed"
			}
			if it.kind == "function_call" {
				for j, call := range s.calls {
					if strings.HasPrefix(call, r.Item.CallID+" ") {
						s.calls[j] += it.text
					}
				}
				if r.Item.Arguments != it.text {
					return fail("call")
				}
			}
		case "response.completed", "response.incomplete":
			ended = true
			s.finish = r.Response.Status
			if len(r.Response.Output) != len(items) || r.Response.Usage == nil || slices.ContainsFunc(items, func(o *itemState) bool { return o.status == "" }) {
				return fail("unfinished items, or other ones")
			}
			for j, it := range items {
				var same struct{ ID, Status string }
				if err := json.Unmarshal(r.Response.Output[j], &same); err != nil || same.ID != it.id || it.kind != "reasoning" && same.Status != it.status ||
					it.kind != "reasoning" && it.status != map[bool]string{true: r.Response.Status, false: "completed"}[j == len(items)-1] {
					return fail("an item is another one at the end")
				}
			}
			s.usage = r.Response.Usage.Total
		case "error":
			s.failed = r.Message
		case "response.failed":
			if ended = true; s.failed == "" || r.Response.Error == nil {
				return fail("no error before")
			}
		default:
			return fail("unknown event")
		}
	}
	if !ended {
		return s, fmt.Errorf("the stream has no end")
	}
	return s, nil
}
