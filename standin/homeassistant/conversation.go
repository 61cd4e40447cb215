package homeassistant

import (
	"cmp"
	"fmt"
	"strings"
)

// conversationFields returns the schema of the command conversation/process.
func conversationFields() schema {
	return schema{
		"text": requiredField(strictField), "language": optionalField(strictField), "agent_id": optionalField(strictField), "conversation_id": optionalField(maybeField),
	}
}

// processSentence returns the answer of the conversation agent to a sentence. The caller holds s.mu. Source:
// https://developers.home-assistant.io/docs/intent_conversation_api
func (s *Server) processSentence(data map[string]any, ctx Context) object {
	kind, speech, found := s.interpret(text(data, "text"), ctx)
	body := object{"targets": []object{}, "success": found, "failed": []object{}}
	if kind == "error" {
		body = object{"code": "no_intent_match"}
	}
	id := text(data, "conversation_id")
	if id == "" {
		s.serial++
		id = fmt.Sprintf("01CONVERSE%016d", s.serial)
	}
	return object{
		"response": object{
			"response_type": kind, "language": cmp.Or(text(data, "language"), "en"), "data": body, "card": object{},
			"speech": object{"plain": object{"speech": speech, "extra_data": nil}},
		},
		"conversation_id": id, "continue_conversation": false,
	}
}

// interpret does what a sentence asks for, and returns the agent's answer.
func (s *Server) interpret(sentence string, ctx Context) (kind, speech string, found []object) {
	sentence = strings.TrimRight(strings.TrimSpace(sentence), ".!?")
	lower := strings.ToLower(sentence)
	for _, one := range []struct{ prefix, state string }{{"turn on ", "on"}, {"turn off ", "off"}, {"what is ", ""}} {
		name, ok := strings.CutPrefix(lower, one.prefix)
		if !ok {
			continue
		}
		e, ok := s.entityByName(name)
		if !ok {
			break
		}
		found = []object{{"type": "entity", "name": e.Attributes["friendly_name"], "id": e.Entity}}
		if one.state == "" {
			unit, _ := e.Attributes["unit_of_measurement"].(string)
			return "query_answer", strings.TrimSpace(fmt.Sprintf("%v is %s %s", e.Attributes["friendly_name"], e.State, unit)), found
		}
		s.set(e.Entity, one.state, e.Attributes, ctx, false)
		return "action_done", fmt.Sprintf("Turned %s %v", one.state, e.Attributes["friendly_name"]), found
	}
	return "error", "Sorry, I couldn't understand that", nil
}
