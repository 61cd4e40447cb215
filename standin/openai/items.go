package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// inputItem is one element of the input of a request of the Responses API.
type inputItem struct {
	Type      string          `json:"type"`
	ID        *string         `json:"id"`
	Status    *string         `json:"status"`
	Role      string          `json:"role"`
	Phase     *string         `json:"phase"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted *string         `json:"encrypted_content"`

	text      string
	images    []Image
	documents []Document
}

// fieldsOf returns the allowed fields of a type of item, or "" if the type is unknown.
func fieldsOf(kind string) string {
	switch kind {
	case "message":
		return " type id status role content phase "
	case "function_call":
		return " type id status call_id name arguments "
	case "function_call_output":
		return " type id status call_id output "
	case "reasoning":
		return " type id status summary content encrypted_content "
	}
	return ""
}

// checkInput parses the items of the input and checks their order.
func (r *responsesRequest) checkInput() {
	invalidIf(isNull(r.Input), "", "missing_required_parameter",
		`Missing required parameter: one of "input", "previous_response_id", "prompt" or "conversation" must be provided.`)
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		r.items = []inputItem{{Type: "message", Role: "user", text: text}}
		return
	}
	var raws []json.RawMessage
	decode(r.Input, &raws, "input", "one of a string or array of input items")
	notEmpty(len(raws), "input")
	for i, raw := range raws {
		r.items = append(r.items, r.readItem(raw, fmt.Sprintf("input[%d]", i)))
	}
	r.checkOrder()
}

// readItem parses an item, and refuses the request if the item is invalid by itself.
func (r *responsesRequest) readItem(raw json.RawMessage, where string) (item inputItem) {
	if err := json.Unmarshal(raw, &item); err != nil {
		panic(invalid(where, "invalid_type", "Invalid type for '%s': %v.", where, err))
	}
	if item.Type == "" && item.Role != "" {
		item.Type = "message"
	}
	if item.Type == "item_reference" && item.ID != nil {
		panic(notStored(*item.ID))
	}
	known := fieldsOf(item.Type)
	invalidIf(known == "", where, "invalid_value", "Invalid value: '%s'. This stand-in knows 'message', 'function_call', "+
		"'function_call_output' and 'reasoning'.", item.Type)
	knownFields(raw, where, known)
	oneValue(where+".status", item.Status, "in_progress", "completed", "incomplete")
	switch item.Type {
	case "message":
		item.checkMessage(where)
	case "function_call":
		item.checkCall(where)
	case "function_call_output":
		item.checkResult(where)
	default:
		item.checkReasoning(where, r.Model)
	}
	return item
}

// notStored returns the error for a reference to an item by its id. The server stores no items, so no reference to an
// item is valid.
func notStored(id string) *apiError {
	return newError(http.StatusNotFound, "invalid_request_error", "input", "", fmt.Sprintf("Item with id '%s' not found. Items are not "+
		"persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id))
}

// checkID refuses an item whose id does not begin with the prefix of the item's type.
func (m *inputItem) checkID(where, prefix string) {
	if m.ID != nil && !strings.HasPrefix(*m.ID, prefix) {
		panic(invalid(where+".id", "invalid_value", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", where, *m.ID, prefix))
	}
}

func (m *inputItem) checkMessage(where string) {
	oneValue(where+".role", &m.Role, "assistant", "system", "developer", "user")
	m.checkID(where, "msg")
	invalidIf(m.Phase != nil && m.Role != "assistant", where+".phase", "unknown_parameter", "Unknown parameter: '%s.phase'.", where)
	oneValue(where+".phase", m.Phase, "commentary", "final_answer")
	required(!isNull(m.Content), where, "content")
	m.readParts(m.Content, where+".content", m.Role == "assistant")
}

func (m *inputItem) checkCall(where string) {
	const longest = 64
	required(m.CallID != "", where, "call_id")
	invalidIf(len(m.CallID) > longest, where+".call_id", "string_above_max_length", "Invalid '%s.call_id': string too long. Expected a "+
		"string with maximum length %d, but got a string with length %d instead.", where, longest, len(m.CallID))
	required(m.Name != "", where, "name")
	functionName(m.Name, where+".name")
	required(m.Arguments != nil, where, "arguments")
	m.checkID(where, "fc")
}

func (m *inputItem) checkResult(where string) {
	required(m.CallID != "", where, "call_id")
	required(!isNull(m.Output), where, "output")
	m.checkID(where, "fc")
	m.readParts(m.Output, where+".output", false)
}

// checkReasoning refuses reasoning that this server did not write. A reasoning item must contain the encrypted content,
// because the server does not store reasoning.
func (m *inputItem) checkReasoning(where, model string) {
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	required(!isNull(m.Summary), where, "summary")
	decode(m.Summary, &parts, where+".summary", "an array of objects")
	for i, p := range parts {
		invalidIf(p.Type != "summary_text" || p.Text == nil, fmt.Sprintf("%s.summary[%d]", where, i), "invalid_value",
			"Invalid value: '%s'. Supported values are: 'summary_text'.", p.Type)
	}
	m.checkID(where, "rs")
	if !isNull(m.Content) {
		decode(m.Content, &parts, where+".content", "an array of objects")
		if m.Encrypted == nil && len(parts) > 0 {
			return // like the servers of open models, accept plain reasoning
		}
	}
	if m.Encrypted == nil {
		required(m.ID != nil, where, "encrypted_content")
		panic(notStored(*m.ID))
	}
	id, by, ok := decrypt(*m.Encrypted)
	invalidIf(!ok || by != model, "", "invalid_encrypted_content", "The encrypted content %s could not be verified. Reason: Encrypted "+
		"content could not be decrypted or parsed.", clip(*m.Encrypted, 20))
	if m.ID != nil && *m.ID != id {
		panic(invalid("", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: Encrypted "+
			"content item_id did not match the target item id.", *m.ID))
	}
}

// encrypt encodes the text of a reasoning item with a checksum, by which decrypt recognizes text that this server
// wrote.
func encrypt(id, model, text string) string {
	sealed := mustJSON([]string{id, model, text})
	return "gAAAA" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%016x%s", hashOf(string(sealed)), sealed))
}

// decrypt decodes a text that encrypt returned. ok is false for any other text.
func decrypt(encrypted string) (id, model string, ok bool) {
	const sum = 16
	payload, ours := strings.CutPrefix(encrypted, "gAAAA")
	sealed, err := base64.RawURLEncoding.DecodeString(payload)
	if !ours || err != nil || len(sealed) < sum || fmt.Sprintf("%016x", hashOf(string(sealed[sum:]))) != string(sealed[:sum]) {
		return "", "", false
	}
	var fields []string
	if json.Unmarshal(sealed[sum:], &fields) != nil || len(fields) != 3 {
		return "", "", false
	}
	return fields[0], fields[1], true
}

// readParts extracts the text, images and files from the content of a message, which is a string or an array of parts.
func (m *inputItem) readParts(content json.RawMessage, where string, assistant bool) {
	if json.Unmarshal(content, &m.text) == nil {
		return
	}
	var parts []json.RawMessage
	decode(content, &parts, where, "one of a string or array of objects")
	for i, raw := range parts {
		m.readPart(raw, fmt.Sprintf("%s[%d]", where, i), assistant)
	}
}

func (m *inputItem) readPart(raw json.RawMessage, where string, assistant bool) {
	var p struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Refusal  *string `json:"refusal"`
		ImageURL *string `json:"image_url"`
		Detail   string  `json:"detail"`
	}
	decode(raw, &p, where, "an object")
	supported, known := []string{"input_text", "input_image", "input_file"}, map[string]string{
		"input_text": " type text prompt_cache_breakpoint ", "input_image": " type detail file_id image_url prompt_cache_breakpoint ",
		"input_file":  " type detail file_id file_url file_data filename prompt_cache_breakpoint ",
		"output_text": " type text annotations logprobs ", "refusal": " type refusal ",
	}
	if assistant {
		supported = []string{"output_text", "refusal"}
	}
	invalidIf(!slices.Contains(supported, p.Type), where, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.",
		p.Type, strings.Join(supported, "' and '"))
	knownFields(raw, where, known[p.Type])
	switch p.Type {
	case "refusal":
		required(p.Refusal != nil, where, "refusal")
		m.text += *p.Refusal
	case "input_image":
		required(p.ImageURL != nil, where, "image_url")
		m.images = append(m.images, readImage(mustJSON(map[string]string{"url": *p.ImageURL, "detail": p.Detail}), where+".image_url"))
	case "input_file":
		m.documents = append(m.documents, readDocument(raw, where))
	default:
		required(p.Text != nil, where, "text")
		m.text += *p.Text
	}
}

// checkOrder refuses items in a wrong order. Each tool call must be followed by one result, and each result must belong
// to an earlier call. A reasoning item must be followed by the items that the model wrote after the reasoning.
func (r *responsesRequest) checkOrder() {
	open := map[string]bool{} // tool calls whose results have not been read yet
	var calls []string
	for i, item := range r.items {
		switch item.Type {
		case "function_call":
			invalidIf(slices.Contains(calls, item.CallID), "input", "", "Duplicate function call with call_id %s.", item.CallID)
			open[item.CallID], calls = true, append(calls, item.CallID)
		case "function_call_output":
			invalidIf(!open[item.CallID], "input", "", "No tool call found for function call output with call_id %s.", item.CallID)
			delete(open, item.CallID)
		case "reasoning":
			id := "rs"
			if item.ID != nil {
				id = *item.ID
			}
			invalidIf(!leads(r.items[i+1:]), "input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
		}
	}
	for _, id := range calls {
		invalidIf(open[id], "input", "", "No tool output found for function call %s.", id)
	}
}

// leads reports whether a list of items may directly follow a reasoning item.
func leads(after []inputItem) bool {
	if len(after) == 0 {
		return false
	}
	switch after[0].Type {
	case "reasoning", "function_call":
		return true
	}
	return after[0].Type == "message" && after[0].Role == "assistant"
}

// messagesOf converts the input to messages in the form of Chat Completions, in which tool calls are part of an
// assistant message.
func messagesOf(instructions *string, items []inputItem) []message {
	var list []message
	if instructions != nil {
		list = append(list, message{Role: "system", text: *instructions})
	}
	for _, item := range items {
		switch item.Type {
		case "message":
			list = append(list, message{Role: item.Role, text: item.text, images: item.images, documents: item.documents})
		case "function_call":
			if len(list) == 0 || list[len(list)-1].Role != "assistant" {
				list = append(list, message{Role: "assistant"})
			}
			c := requestedCall{ID: item.CallID, Type: "function"}
			c.Function.Name, c.Function.Arguments = item.Name, *item.Arguments
			last := &list[len(list)-1]
			last.ToolCalls = append(last.ToolCalls, c)
		case "function_call_output":
			list = append(list, message{Role: "tool", ToolCallID: item.CallID, text: item.text, images: item.images, documents: item.documents})
		}
	}
	return list
}
