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

	text   string
	images []Image
}

// fieldsOf returns what an item of a type may have; "" for types that are not known.
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

// checkInput reads the input and checks its order.
func (r *responsesRequest) checkInput() error {
	if isNull(r.Input) {
		return invalid("", "missing_required_parameter",
			`Missing required parameter: one of "input", "previous_response_id", "prompt" or "conversation" must be provided.`)
	}
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		r.items = []inputItem{{Type: "message", Role: "user", text: text}}
		return nil
	}
	var raws []json.RawMessage
	if json.Unmarshal(r.Input, &raws) != nil {
		return invalid("input", "invalid_type", "Invalid type for 'input': expected one of a string or array of input items.")
	}
	if len(raws) == 0 {
		return invalid("input", "empty_array",
			"Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, raw := range raws {
		item, err := r.readItem(raw, fmt.Sprintf("input[%d]", i))
		if err != nil {
			return err
		}
		r.items = append(r.items, item)
	}
	return r.checkOrder()
}

// readItem reads an item and checks it by itself.
func (r *responsesRequest) readItem(raw json.RawMessage, where string) (item inputItem, err error) {
	if err := json.Unmarshal(raw, &item); err != nil {
		return item, invalid(where, "invalid_type", "Invalid type for '%s': %v.", where, err)
	}
	if item.Type == "" && item.Role != "" {
		item.Type = "message"
	}
	if item.Type == "item_reference" && item.ID != nil {
		return item, notStored(*item.ID)
	}
	known := fieldsOf(item.Type)
	if known == "" {
		return item, invalid(where, "invalid_value", "Invalid value: '%s'. This stand-in knows 'message', 'function_call', "+
			"'function_call_output' and 'reasoning'.", item.Type)
	}
	if err := knownFields(raw, where, known); err != nil {
		return item, err
	}
	if err := oneValue(where+".status", item.Status, "in_progress", "completed", "incomplete"); err != nil {
		return item, err
	}
	switch item.Type {
	case "message":
		return item, item.checkMessage(where)
	case "function_call":
		return item, item.checkCall(where)
	case "function_call_output":
		return item, item.checkResult(where)
	default:
		return item, item.checkReasoning(where, r.Model)
	}
}

func missing(where, name string) error {
	return invalid(where+"."+name, "missing_required_parameter", "Missing required parameter: '%s.%s'.", where, name)
}

// notStored is the answer to an id of something that nobody kept.
func notStored(id string) error {
	return newError(http.StatusNotFound, "invalid_request_error", "input", "", fmt.Sprintf("Item with id '%s' not found. Items are not "+
		"persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id))
}

// checkID refuses an id that belongs to items of another type.
func (m *inputItem) checkID(where, prefix string) error {
	if m.ID != nil && !strings.HasPrefix(*m.ID, prefix) {
		return invalid(where+".id", "invalid_value", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", where, *m.ID, prefix)
	}
	return nil
}

func (m *inputItem) checkMessage(where string) error {
	if err := oneValue(where+".role", &m.Role, "assistant", "system", "developer", "user"); err != nil {
		return err
	}
	if err := m.checkID(where, "msg"); err != nil {
		return err
	}
	if m.Phase != nil && m.Role != "assistant" {
		return invalid(where+".phase", "unknown_parameter", "Unknown parameter: '%s.phase'.", where)
	}
	if err := oneValue(where+".phase", m.Phase, "commentary", "final_answer"); err != nil {
		return err
	}
	if isNull(m.Content) {
		return missing(where, "content")
	}
	var err error
	m.text, m.images, err = readParts(m.Content, where+".content", m.Role == "assistant")
	return err
}

func (m *inputItem) checkCall(where string) error {
	const longest = 64
	switch {
	case m.CallID == "":
		return missing(where, "call_id")
	case len(m.CallID) > longest:
		return invalid(where+".call_id", "string_above_max_length", "Invalid '%s.call_id': string too long. Expected a string with "+
			"maximum length %d, but got a string with length %d instead.", where, longest, len(m.CallID))
	case m.Name == "":
		return missing(where, "name")
	case !functionNameRE.MatchString(m.Name):
		return invalid(where+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string "+
			"that matches the pattern '%s'.", where, functionNameRE)
	case m.Arguments == nil:
		return missing(where, "arguments")
	}
	return m.checkID(where, "fc")
}

func (m *inputItem) checkResult(where string) error {
	switch {
	case m.CallID == "":
		return missing(where, "call_id")
	case isNull(m.Output):
		return missing(where, "output")
	}
	if err := m.checkID(where, "fc"); err != nil {
		return err
	}
	var err error
	m.text, m.images, err = readParts(m.Output, where+".output", false)
	return err
}

// checkReasoning takes only reasoning that this server has written and that says itself what it
// was: nothing is stored.
func (m *inputItem) checkReasoning(where, model string) error {
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if isNull(m.Summary) {
		return missing(where, "summary")
	}
	if json.Unmarshal(m.Summary, &parts) != nil {
		return invalid(where+".summary", "invalid_type", "Invalid type for '%s.summary': expected an array of objects.", where)
	}
	for i, p := range parts {
		if p.Type != "summary_text" || p.Text == nil {
			return invalid(fmt.Sprintf("%s.summary[%d]", where, i), "invalid_value", "Invalid value: '%s'. Supported values are: 'summary_text'.", p.Type)
		}
	}
	if err := m.checkID(where, "rs"); err != nil {
		return err
	}
	if !isNull(m.Content) {
		if json.Unmarshal(m.Content, &parts) != nil {
			return invalid(where+".content", "invalid_type", "Invalid type for '%s.content': expected an array of objects.", where)
		}
		if m.Encrypted == nil && len(parts) > 0 {
			return nil // as servers of open models send it and take it
		}
	}
	if m.Encrypted == nil {
		if m.ID == nil {
			return missing(where, "encrypted_content")
		}
		return notStored(*m.ID)
	}
	id, by, ok := decrypt(*m.Encrypted)
	switch {
	case !ok || by != model:
		return invalid("", "invalid_encrypted_content", "The encrypted content %s could not be verified. Reason: Encrypted content "+
			"could not be decrypted or parsed.", clip(*m.Encrypted, 20))
	case m.ID != nil && *m.ID != id:
		return invalid("", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: Encrypted "+
			"content item_id did not match the target item id.", *m.ID)
	}
	return nil
}

// encrypt makes what nobody but this server is to read of a reasoning item.
func encrypt(id, model, text string) string {
	sealed := mustJSON([]string{id, model, text})
	return "gAAAA" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%016x%s", hashOf(string(sealed)), sealed))
}

// decrypt returns whose reasoning it is and which model's; ok is false for what encrypt did not make.
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

// readParts takes text and images out of a string or of an array of parts.
func readParts(content json.RawMessage, where string, assistant bool) (text string, images []Image, err error) {
	if json.Unmarshal(content, &text) == nil {
		return text, nil, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return "", nil, invalid(where, "invalid_type", "Invalid type for '%s': expected one of a string or array of objects.", where)
	}
	var b strings.Builder
	for i, raw := range parts {
		said, found, err := readPart(raw, fmt.Sprintf("%s[%d]", where, i), assistant)
		if err != nil {
			return "", nil, err
		}
		b.WriteString(said)
		images = append(images, found...)
	}
	return b.String(), images, nil
}

func readPart(raw json.RawMessage, where string, assistant bool) (text string, images []Image, err error) {
	var p struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Refusal  *string `json:"refusal"`
		ImageURL *string `json:"image_url"`
		Detail   string  `json:"detail"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return "", nil, invalid(where, "invalid_type", "Invalid type for '%s': expected an object.", where)
	}
	supported, known := []string{"input_text", "input_image"}, map[string]string{
		"input_text": " type text prompt_cache_breakpoint ", "input_image": " type detail file_id image_url prompt_cache_breakpoint ",
		"output_text": " type text annotations logprobs ", "refusal": " type refusal ",
	}
	if assistant {
		supported = []string{"output_text", "refusal"}
	}
	if !slices.Contains(supported, p.Type) {
		return "", nil, invalid(where, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", p.Type, strings.Join(supported, "' and '"))
	}
	if err := knownFields(raw, where, known[p.Type]); err != nil {
		return "", nil, err
	}
	switch {
	case p.Type == "refusal" && p.Refusal == nil:
		return "", nil, missing(where, "refusal")
	case p.Type == "refusal":
		return *p.Refusal, nil, nil
	case p.Type == "input_image" && p.ImageURL == nil:
		return "", nil, missing(where, "image_url")
	case p.Type == "input_image":
		image, err := readImage(mustJSON(map[string]string{"url": *p.ImageURL, "detail": p.Detail}), where+".image_url")
		return "", []Image{image}, err
	case p.Text == nil:
		return "", nil, missing(where, "text")
	default:
		return *p.Text, nil, nil
	}
}

// checkOrder checks what belongs together: each call has one result after it, each result its
// call before it, and reasoning is followed by what it led to.
func (r *responsesRequest) checkOrder() error {
	open := map[string]bool{} // calls without a result yet
	var calls []string
	for i, item := range r.items {
		switch item.Type {
		case "function_call":
			if slices.Contains(calls, item.CallID) {
				return invalid("input", "", "Duplicate function call with call_id %s.", item.CallID)
			}
			open[item.CallID], calls = true, append(calls, item.CallID)
		case "function_call_output":
			if !open[item.CallID] {
				return invalid("input", "", "No tool call found for function call output with call_id %s.", item.CallID)
			}
			delete(open, item.CallID)
		case "reasoning":
			if !leads(r.items[i+1:]) {
				id := "rs"
				if item.ID != nil {
					id = *item.ID
				}
				return invalid("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
			}
		}
	}
	for _, id := range calls {
		if open[id] {
			return invalid("input", "", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

// leads reports whether reasoning may stand before these items.
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

// messagesOf returns the input as messages of Chat Completions: calls belong to the message of
// their assistant.
func messagesOf(instructions *string, items []inputItem) []message {
	var list []message
	if instructions != nil {
		list = append(list, message{Role: "system", text: *instructions})
	}
	for _, item := range items {
		switch item.Type {
		case "message":
			list = append(list, message{Role: item.Role, text: item.text, images: item.images})
		case "function_call":
			if len(list) == 0 || list[len(list)-1].Role != "assistant" {
				list = append(list, message{Role: "assistant"})
			}
			c := requestedCall{ID: item.CallID, Type: "function"}
			c.Function.Name, c.Function.Arguments = item.Name, *item.Arguments
			last := &list[len(list)-1]
			last.ToolCalls = append(last.ToolCalls, c)
		case "function_call_output":
			list = append(list, message{Role: "tool", ToolCallID: item.CallID, text: item.text, images: item.images})
		}
	}
	return list
}
