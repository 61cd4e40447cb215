package apiserver

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"telex/agent"
)

// api is the wire format of one of the two APIs: Chat Completions or Responses.
type api interface {
	// decode decodes a request body. decode does not know who typed the users' messages; the caller records this with
	// setTypedBy.
	decode(body []byte) (*query, *apiError)
	// newID returns an id for an answer.
	newID() string
	// document returns the JSON document that contains the whole answer.
	document(h answerHead, a *answer, o outcome) any
	// stream returns a streamer for the answer a. The caller adds each piece of the answer to a, and then passes the
	// piece to the streamer.
	stream(h answerHead, out *reply, a *answer) streamer
}

// streamer writes an answer as a stream of events. The caller first calls begin, then calls event for each agent event
// of type Text, Reasoning or Call, and then calls either end or fail.
type streamer interface {
	begin()
	// event writes the piece in e, which belongs to the answer's item with the given index. The parameter isNew says that
	// the piece is the item's first piece.
	event(e agent.Event, index int, isNew bool)
	end(o outcome)
	fail(err *apiError)
}

// answerHead holds the values that every event and every document of an answer contains, such as the answer's id.
type answerHead struct {
	id      string
	created time.Time
	query   *query
}

// outcome describes how an answer ended.
type outcome struct {
	stop    agent.StopReason
	refusal string
	usage   agent.Usage
}

// answer is the output of a model in a turn: a list of items.
type answer struct{ items []*item }

type itemKind uint8

const (
	textItem itemKind = iota
	reasoningItem
	callItem
)

// item is a part of an answer: a text, reasoning, or a call of one of the client's tools.
type item struct {
	kind     itemKind
	text     strings.Builder // for a tool call: the call's arguments
	id, name string          // the id and name of a tool call; otherwise empty
}

// add adds the content of an event to the answer. add returns the index of the item that contains the event, and
// whether the item is new. If the event belongs to no item, add returns the index -1.
func (a *answer) add(e agent.Event) (index int, isNew bool) {
	switch e := e.(type) {
	case agent.Text:
		return a.extend(textItem, "", "", e.Delta)
	case agent.Reasoning:
		return a.extend(reasoningItem, "", "", e.Delta)
	case agent.Call:
		return a.extend(callItem, e.ID, e.Name, e.Arguments)
	case agent.Reset:
		a.items = nil
	}
	return -1, false
}

func (a *answer) extend(kind itemKind, id, name, text string) (index int, isNew bool) {
	for i := len(a.items) - 1; i >= 0 && (i == len(a.items)-1 || kind == callItem); i-- { // pieces of several calls may alternate, so the call may be any preceding item
		if it := a.items[i]; it.kind == kind && it.id == id {
			it.text.WriteString(text)
			return i, false
		}
	}
	it := &item{kind: kind, id: id, name: name}
	it.text.WriteString(text)
	a.items = append(a.items, it)
	return len(a.items) - 1, true
}

// textOf returns the text of all items of a kind.
func (a *answer) textOf(kind itemKind) string {
	var b strings.Builder
	for _, it := range a.items {
		if it.kind == kind {
			b.WriteString(it.text.String())
		}
	}
	return b.String()
}

func (a *answer) has(kind itemKind) bool {
	for _, it := range a.items {
		if it.kind == kind {
			return true
		}
	}
	return false
}

// events returns the answer as agent events: one event for each item of the answer.
func (a *answer) events() []agent.Event {
	var out []agent.Event
	for _, it := range a.items {
		switch it.kind {
		case textItem:
			out = append(out, agent.Text{Delta: it.text.String()})
		case reasoningItem:
			out = append(out, agent.Reasoning{Delta: it.text.String()})
		case callItem:
			out = append(out, agent.Call{ID: it.id, Name: it.name, Arguments: it.text.String()})
		}
	}
	return out
}

// size returns the approximate size of the answer in bytes.
func (a *answer) size() int {
	n := 0
	for _, it := range a.items {
		n += it.text.Len() + len(it.id) + len(it.name) + 128
	}
	return n
}

// newID returns an unguessable id.
func newID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return prefix + hex.EncodeToString(b[:])
}
