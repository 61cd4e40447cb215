package apiserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/agent"
)

// query is a decoded request to either API, Chat Completions or Responses.
type query struct {
	model        string
	stream       bool
	usage        bool   // Chat Completions only: the client wants the usage at the end of the stream
	instructions string // Responses only: instructions for this answer
	context      string // the client's system and developer messages
	messages     []agent.Message
	tools        []agent.ToolSpec
	params       agent.Params
	user         string
	previous     string // Responses only: id of the previous response
	store        bool   // Responses only: a later request may refer to this response
	echoed       echo   // Responses only: fields that the response must repeat
}

// These are the limits of OpenAI's API (https://platform.openai.com/docs/api-reference/chat/create).
const (
	maxTools   = 128
	maxStop    = 4
	maxUserID  = 512
	maxNesting = 512 // maximum nesting depth of JSON values; real schemas are far less deep
	maxAddress = 8 << 10
)

// decodeJSON decodes the body of a request. decodeJSON ignores unknown fields, because clients also send fields that
// only other providers use.
func decodeJSON(body []byte, into any) *apiError {
	if nestingDepth(body) > maxNesting {
		return badRequest("", "The request body is nested too deeply.")
	}
	in := json.NewDecoder(bytes.NewReader(body))
	err := in.Decode(into)
	if err == nil {
		if _, err = in.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("text after the JSON value")
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := strings.TrimPrefix(strings.TrimPrefix(mistyped.Field, "sampling."), "echo.") // remove names of Go structs
		return badRequest(field, "Invalid type for %q: got %s.", field, mistyped.Value)
	}
	if invalid, ok := errors.AsType[*apiError](err); ok {
		return invalid
	}
	return badRequest("", "We could not parse the JSON body of your request: %s.", clip(err.Error()))
}

// nestingDepth returns the maximum nesting depth of a JSON text.
func nestingDepth(data []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// parts is the content of a message: a text, or a list of parts.
type parts []part

// part is a part of a message in either API.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// In Chat Completions, image_url is a JSON object; in Responses, image_url is a URL.
	ImageURL json.RawMessage `json:"image_url"`
	// Only the Chat Completions API has the field file.
	File *filePart `json:"file"`
	// Only the Responses API has the following fields: the file's name and data, and the refusal.
	filePart
	Refusal string `json:"refusal"`
}

type filePart struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// UnmarshalJSON accepts a string, null, or a list of parts.
func (p *parts) UnmarshalJSON(data []byte) error {
	*p = nil
	switch data[0] {
	case 'n':
		return nil
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*p = parts{{Type: "text", Text: text}}
		return nil
	case '[':
		return json.Unmarshal(data, (*[]part)(p))
	}
	return badRequest("content", "Invalid type for content: want a string or a list of parts.")
}

// text returns the text of the parts. If a part is not text, the method text returns an error.
func (p parts) text(param string) (string, *apiError) {
	var texts []string
	for i, one := range p {
		switch one.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, one.Text)
		case "refusal":
			texts = append(texts, one.Refusal)
		default:
			return "", badRequest(fmt.Sprintf("%s[%d].type", param, i), "Invalid value: %q. Only text is supported here.", clip(one.Type))
		}
	}
	return strings.Join(texts, "\n"), nil
}

// userMessage converts the parts of a user's message. userMessage marks the text as typed by the asker, and pictures
// and files as outside content (ADR 11).
func userMessage(p parts, param string) (agent.Message, *apiError) {
	m := agent.Message{Role: agent.User}
	var texts []string
	for i, one := range p {
		at := fmt.Sprintf("%s[%d]", param, i)
		switch one.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, one.Text)
			m.Sources = append(m.Sources, agent.Source{Origin: agent.OriginTyped, Text: one.Text})
		case "image_url", "input_image":
			image, err := imageOf(one, at)
			if err != nil {
				return m, err
			}
			m.Images = append(m.Images, image)
			m.Sources = append(m.Sources, agent.Source{Origin: agent.OriginPicture})
		case "file", "input_file":
			file, err := fileOf(one, at)
			if err != nil {
				return m, err
			}
			m.Sources = append(m.Sources, agent.Source{Origin: agent.OriginFile})
			if isText(file) {
				texts = append(texts, "[file "+agent.OneLine(file.Name)+"]\n"+string(file.Content))
			} else {
				m.Files = append(m.Files, file)
			}
		default:
			return m, badRequest(at+".type", "Invalid value: %q. Supported are text, images and files.", clip(one.Type))
		}
	}
	m.Text = strings.Join(texts, "\n")
	return m, nil
}

// isText reports whether a model can read the file's content as it is. HTML does not count as text, because the source
// of a page contains much that people don't see. telex therefore extracts the text of an HTML file, as it does for
// documents.
func isText(f agent.File) bool {
	plain := strings.HasPrefix(f.MediaType, "text/") && f.MediaType != "text/html" ||
		slices.Contains([]string{"application/json", "application/x-ndjson", "application/xml", "application/yaml"}, f.MediaType)
	return plain && utf8.Valid(f.Content)
}

// imageOf returns the picture in a part of a message. If the part contains an http or https URL, imageOf returns this
// URL for the model's provider, because telex itself never fetches URLs for clients.
func imageOf(p part, param string) (agent.Image, *apiError) {
	var object struct {
		URL string `json:"url"`
	}
	address := ""
	if len(p.ImageURL) > 0 && p.ImageURL[0] == '{' && json.Unmarshal(p.ImageURL, &object) == nil {
		address = object.URL
	} else if len(p.ImageURL) > 0 && p.ImageURL[0] == '"' {
		_ = json.Unmarshal(p.ImageURL, &address) // can't fail: ImageURL is valid JSON and begins with a quote
	}
	if u, err := url.Parse(address); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(address) <= maxAddress {
		return agent.Image{URL: address}, nil
	}
	kind, data, ok := dataURL(address)
	switch {
	case !ok:
		return agent.Image{}, badRequest(param+".image_url", "Invalid image: send its address, or a data URL with base64 data. File ids are not supported.")
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return agent.Image{}, badRequest(param+".image_url", "Unsupported image type %q: want png, jpeg, gif or webp.", clip(kind))
	}
	return agent.Image{MediaType: kind, Data: data}, nil
}

func fileOf(p part, param string) (agent.File, *apiError) {
	f := p.filePart
	if p.File != nil {
		f = *p.File
	}
	kind, data, ok := dataURL(f.Data)
	if !ok {
		return agent.File{}, badRequest(param+".file_data", "Invalid file: send it as file_data, a data URL with base64 data. File ids and addresses are not supported.")
	}
	if f.Name == "" {
		f.Name = "file"
	}
	return agent.File{Name: agent.Clip(agent.OneLine(f.Name), 200), MediaType: kind, Content: data}, nil
}

// dataURL decodes a data URL (https://www.rfc-editor.org/rfc/rfc2397).
func dataURL(address string) (mediaType string, data []byte, ok bool) {
	rest, found := strings.CutPrefix(address, "data:")
	head, encoded, split := strings.Cut(rest, ",")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	if !found || !split || !isBase64 {
		return "", nil, false
	}
	mediaType, _, err := mime.ParseMediaType(head)
	if err != nil {
		return "", nil, false
	}
	if data, err = base64.StdEncoding.DecodeString(encoded); err != nil || len(data) == 0 {
		return "", nil, false
	}
	return mediaType, data, true
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// function is a tool that a client offers to the model.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// addTool adds a client's function to the query.
func (q *query) addTool(f function, param string) *apiError {
	switch {
	case !toolName.MatchString(f.Name):
		return badRequest(param+".name", "Invalid tool name %q: use letters, digits, _ and -, at most 64.", clip(f.Name))
	case slices.ContainsFunc(q.tools, func(t agent.ToolSpec) bool { return t.Name == f.Name }):
		return badRequest(param+".name", "Two tools are named %q.", f.Name)
	case len(q.tools) == maxTools:
		return badRequest("tools", "Too many tools: at most %d are supported.", maxTools)
	}
	if string(f.Parameters) == "null" {
		f.Parameters = nil
	}
	if len(f.Parameters) > 0 && f.Parameters[0] != '{' {
		return badRequest(param+".parameters", "Invalid schema for the tool %q: want an object.", f.Name)
	}
	q.tools = append(q.tools, agent.ToolSpec{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	return nil
}

// chooseTool applies a request's tool_choice. The choice "none" disables only the client's tools, because the client
// does not know telex's own tools. If tool_choice requires a call, telex offers the model only the client's tools,
// because a call of a client's tool ends the turn. The parameter all says whether addResponseTools has kept all tools
// of the request.
func (q *query) chooseTool(choice json.RawMessage, all bool) *apiError {
	if len(choice) == 0 || string(choice) == "null" {
		return nil
	}
	var word string
	var object struct {
		Type     string   `json:"type"`
		Name     string   `json:"name"`
		Function function `json:"function"`
	}
	if json.Unmarshal(choice, &word) != nil && json.Unmarshal(choice, &object) != nil {
		return badRequest("tool_choice", "Invalid type for tool_choice.")
	}
	name := object.Name
	if object.Function.Name != "" {
		name = object.Function.Name
	}
	known := slices.ContainsFunc(q.tools, func(t agent.ToolSpec) bool { return t.Name == name })
	switch {
	case word == "auto":
	case word == "none":
		q.tools = nil
	case word == "required" && len(q.tools) > 0:
		q.params.MustCall = true
	case word == "required" && !all: // no error, because the request may mean a tool that addResponseTools omitted
	case object.Type == "function" && known:
		q.params.MustCall, q.params.MustCallName = true, name
	case word == "" && object.Type != "function" && !all:
	default:
		return badRequest("tool_choice", "Invalid value for tool_choice: want none, auto, required or one of the tools.")
	}
	return nil
}

// sampling holds the parameters that both APIs have.
type sampling struct {
	Temperature       *float64 `json:"temperature"`
	TopP              *float64 `json:"top_p"`
	ParallelToolCalls *bool    `json:"parallel_tool_calls"`
}

func (s sampling) set(p *agent.Params) *apiError {
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return badRequest("temperature", "Invalid value for temperature: want 0 to 2.")
	}
	if t := s.TopP; t != nil && !(*t >= 0 && *t <= 1) {
		return badRequest("top_p", "Invalid value for top_p: want 0 to 1.")
	}
	p.Temperature, p.TopP, p.ParallelToolCalls = s.Temperature, s.TopP, s.ParallelToolCalls
	return nil
}

// setMaxTokens sets the maximum number of output tokens to *most. If the request contains no maximum, the parameter
// most is nil.
func (q *query) setMaxTokens(param string, most *int) *apiError {
	if most == nil {
		return nil
	}
	if *most < 1 {
		return badRequest(param, "Invalid value for %s: want at least 1.", param)
	}
	q.params.MaxOutput = *most
	return nil
}

// setTypedBy records which person typed the users' messages.
func (q *query) setTypedBy(person string) {
	for _, m := range q.messages {
		for i := range m.Sources {
			if m.Sources[i].Origin == agent.OriginTyped {
				m.Sources[i].Person = person
			}
		}
	}
}

// addContext adds the text of a system or developer message to the query.
func (q *query) addContext(text string) { q.context = paragraphs(q.context, text) }

// paragraphs joins the texts that are not empty, with an empty line between two texts.
func paragraphs(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n\n")
}

// check validates the parts of a query that both APIs have.
func (q *query) check(models map[string]bool) *apiError {
	switch {
	case q.model == "":
		return badRequest("model", "You must provide a model parameter. GET /v1/models lists the models.")
	case !models[q.model]:
		return errNoModel(q.model)
	case len(q.user) > maxUserID:
		return badRequest("user", "Invalid value for user: it is longer than %d bytes.", maxUserID)
	}
	if all := paragraphs(q.instructions, q.context); len(q.messages) == 0 && all != "" && q.previous == "" { // a model needs a message to answer
		q.messages, q.instructions, q.context = []agent.Message{agent.Typed("", all)}, "", ""
	}
	return nil
}
