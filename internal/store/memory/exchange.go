package memory

import (
	"context"
	"slices"
	"time"

	"telex/internal/chat"
)

// keptResponses is the maximum number of responses that the store keeps for all people together.
const keptResponses = 1000

// response is a stored response, with the person whose request it answered.
type response struct {
	person chat.Person
	chat.Response
}

// SaveExchange stores a turn of the API server after the turn has ended.
func (s *Store) SaveExchange(_ context.Context, x chat.Exchange) error {
	defer s.lock()()
	x.Conversation = s.now(x.Conversation)
	grown := x.Growth
	if x.After > 0 && !slices.ContainsFunc(s.session(x.Conversation).history, func(e chat.Entry) bool { return e.ID == x.After }) {
		grown = chat.Growth{Usage: grown.Usage}
	}
	s.grow(&memoryTurn{Turn: chat.Turn{ID: x.Turn, Conversation: x.Conversation, User: x.User}}, grown)
	if x.Response != nil {
		r := response{chat.Person{Endpoint: x.Conversation.Endpoint, User: x.User}, *x.Response}
		r.At = time.Now()
		s.responses = last(append(s.responses, r), keptResponses)
	}
	return nil
}

// Responses returns a person's response and the earlier responses of the same conversation, oldest first.
func (s *Store) Responses(_ context.Context, p chat.Person, id string) (chain []chat.Response, err error) {
	defer s.lock()()
	for id != "" {
		at := slices.IndexFunc(s.responses, func(r response) bool { return r.ID == id && r.person == p })
		if at < 0 {
			break
		}
		chain = append([]chat.Response{s.responses[at].Response}, chain...)
		id = s.responses[at].Previous
	}
	return chain, nil
}

// DeleteResponse deletes a response of a person, and reports whether the response existed.
func (s *Store) DeleteResponse(_ context.Context, p chat.Person, id string) (bool, error) {
	defer s.lock()()
	before := len(s.responses)
	s.responses = slices.DeleteFunc(s.responses, func(r response) bool { return r.ID == id && r.person == p })
	return len(s.responses) < before, nil
}
