package apiserver

import (
	"slices"

	"telex/agent"
)

// responseEvent is an event of a stream of the Responses API. A field that the event does not contain is nil.
type responseEvent struct {
	Type         string    `json:"type"`
	Sequence     int       `json:"sequence_number"`
	Response     *response `json:"response,omitempty"`
	OutputIndex  *int      `json:"output_index,omitempty"`
	ItemID       string    `json:"item_id,omitempty"`
	ContentIndex *int      `json:"content_index,omitempty"`
	SummaryIndex *int      `json:"summary_index,omitempty"`
	Item         any       `json:"item,omitempty"`
	Part         any       `json:"part,omitempty"`
	Delta        *string   `json:"delta,omitempty"`
	Text         *string   `json:"text,omitempty"`
	Refusal      *string   `json:"refusal,omitempty"`
	Name         string    `json:"name,omitempty"`
	Arguments    *string   `json:"arguments,omitempty"`
	LogProbs     *[]any    `json:"logprobs,omitempty"`
}

// errorEvent is the event that reports an error in a stream. errorEvent contains the fields of the error twice: at the
// top level, and inside the field error. OpenAI documents the fields at the top level, but sends them inside the field
// error, where the official SDKs read them (https://github.com/openai/openai-node/blob/master/src/core/streaming.ts).
type errorEvent struct {
	Type     string    `json:"type"`
	Sequence int       `json:"sequence_number"`
	Code     *string   `json:"code"`
	Message  string    `json:"message"`
	Param    *string   `json:"param"`
	Error    errorBody `json:"error"`
}

// responseStream writes an answer as events of the Responses API. Before the first piece of an item, responseStream
// sends an event that announces the item. responseStream ends a text or reasoning item when the next item begins.
// responseStream ends tool calls only at the end of the answer, because pieces of several calls may alternate.
type responseStream struct {
	answerHead
	out      *reply
	answer   *answer // the answer as it is after the newest event
	sequence int
	open     []int // indexes of the items that have begun but not ended
}

// stream implements api.
func (responsesAPI) stream(h answerHead, out *reply, a *answer) streamer {
	return &responseStream{answerHead: h, out: out, answer: a}
}

func (s *responseStream) send(e responseEvent) {
	e.Sequence = s.sequence
	s.sequence++
	s.out.event(e.Type, e)
}

// begin implements streamer.
func (s *responseStream) begin() {
	r := newResponse(s.answerHead)
	s.send(responseEvent{Type: "response.created", Response: &r})
	s.send(responseEvent{Type: "response.in_progress", Response: &r})
}

// event implements streamer.
func (s *responseStream) event(e agent.Event, index int, isNew bool) {
	it := s.answer.items[index]
	if isNew {
		s.beginItem(index, it)
	}
	zero := 0
	piece := responseEvent{OutputIndex: &index, ItemID: itemID(s.answerHead, it.kind, index)}
	switch e := e.(type) {
	case agent.Text:
		piece.Type, piece.ContentIndex, piece.Delta, piece.LogProbs = "response.output_text.delta", &zero, &e.Delta, &[]any{}
	case agent.Reasoning:
		piece.Type, piece.SummaryIndex, piece.Delta = "response.reasoning_summary_text.delta", &zero, &e.Delta
	case agent.Call:
		if e.Arguments == "" {
			return
		}
		piece.Type, piece.Delta = "response.function_call_arguments.delta", &e.Arguments
	}
	s.send(piece)
}

// beginItem ends the open text and reasoning items, and begins a new item.
func (s *responseStream) beginItem(index int, it *item) {
	for _, i := range slices.Clone(s.open) {
		if s.answer.items[i].kind != callItem {
			s.endItem(i, completed)
		}
	}
	s.open = append(s.open, index)
	s.send(responseEvent{Type: "response.output_item.added", OutputIndex: &index, Item: outputItem(s.answerHead, it, index, inProgress)})
	zero := 0
	part := responseEvent{OutputIndex: &index, ItemID: itemID(s.answerHead, it.kind, index)}
	switch it.kind {
	case textItem:
		part.Type, part.ContentIndex, part.Part = "response.content_part.added", &zero, newOutputText("")
	case reasoningItem:
		part.Type, part.SummaryIndex, part.Part = "response.reasoning_summary_part.added", &zero, summaryText{"summary_text", ""}
	default:
		return
	}
	s.send(part)
}

// endItem sends the events that end an item.
func (s *responseStream) endItem(index int, status string) {
	s.open = slices.DeleteFunc(s.open, func(i int) bool { return i == index })
	it := s.answer.items[index]
	text, zero := it.text.String(), 0
	done := responseEvent{OutputIndex: &index, ItemID: itemID(s.answerHead, it.kind, index)}
	part := done
	switch it.kind {
	case textItem:
		done.Type, done.ContentIndex, done.Text, done.LogProbs = "response.output_text.done", &zero, &text, &[]any{}
		part.Type, part.ContentIndex, part.Part = "response.content_part.done", &zero, newOutputText(text)
	case reasoningItem:
		done.Type, done.SummaryIndex, done.Text = "response.reasoning_summary_text.done", &zero, &text
		part.Type, part.SummaryIndex, part.Part = "response.reasoning_summary_part.done", &zero, summaryText{"summary_text", text}
	case callItem:
		done.Type, done.Name, done.Arguments = "response.function_call_arguments.done", it.name, &text
	}
	s.send(done)
	if part.Type != "" {
		s.send(part)
	}
	s.send(responseEvent{Type: "response.output_item.done", OutputIndex: &index, Item: outputItem(s.answerHead, it, index, status)})
}

// end implements streamer.
func (s *responseStream) end(o outcome) {
	for _, i := range slices.Clone(s.open) {
		s.endItem(i, endStatus(i, s.answer, o))
	}
	if o.refusal != "" {
		s.sendRefusal(o.refusal)
	}
	r := newResponse(s.answerHead)
	r.finish(outputItems(s.answerHead, s.answer, o), o)
	s.send(responseEvent{Type: "response." + r.Status, Response: &r})
}

// sendRefusal writes the model's refusal to answer as a separate message.
func (s *responseStream) sendRefusal(text string) {
	index, zero := len(s.answer.items), 0
	id := itemID(s.answerHead, textItem, index)
	message := outputMessage{Type: "message", ID: id, Status: inProgress, Role: "assistant", Content: []any{}}
	at := responseEvent{OutputIndex: &index, ItemID: id, ContentIndex: &zero}
	send := func(kind string, set func(*responseEvent)) {
		e := at
		e.Type = kind
		set(&e)
		s.send(e)
	}
	s.send(responseEvent{Type: "response.output_item.added", OutputIndex: &index, Item: message})
	send("response.content_part.added", func(e *responseEvent) { e.Part = outputRefusal{"refusal", ""} })
	send("response.refusal.delta", func(e *responseEvent) { e.Delta = &text })
	send("response.refusal.done", func(e *responseEvent) { e.Refusal = &text })
	send("response.content_part.done", func(e *responseEvent) { e.Part = outputRefusal{"refusal", text} })
	message.Status, message.Content = completed, []any{outputRefusal{"refusal", text}}
	s.send(responseEvent{Type: "response.output_item.done", OutputIndex: &index, Item: message})
}

// fail implements streamer. The official SDKs turn the error event into an exception. For clients that ignore the error
// event, fail also sends a response with the status failed.
func (s *responseStream) fail(err *apiError) {
	code := err.code
	if code == "" {
		code = err.kind
	}
	s.out.event("error", errorEvent{Type: "error", Sequence: s.sequence, Code: &code, Message: err.message, Param: nullable(err.param), Error: err.envelope().Error})
	s.sequence++
	r := newResponse(s.answerHead)
	r.Status, r.Error = "failed", &responseError{Code: serverError, Message: err.message}
	s.send(responseEvent{Type: "response.failed", Response: &r})
}
