package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// parsedCall is a call that a model asked for, with its tool or with the reason why it can't run.
type parsedCall struct {
	// ToolCall is kept in the history. Whatever the model wrote, every provider accepts its name and its arguments.
	// Its id is unique in the turn.
	ToolCall
	def      ToolDef
	approved bool   // by the configuration; nobody needs to be asked
	problem  string // why the call can't run, so that the model can correct it; empty: it can run
}

// maxQuoted bounds, in bytes, how much of a wrong call an error repeats to the model.
const maxQuoted = 2000

// parseCall parses a call of a model. truncated says that the model's answer ended at the output limit.
func parseCall(c ToolCall, tools []ToolDef, truncated bool) parsedCall {
	p := parsedCall{ToolCall: c}
	p.Name = SafeName(c.Name)
	arguments, problem := parseArguments(c.Arguments)
	p.Arguments = arguments
	at := slices.IndexFunc(tools, func(d ToolDef) bool { return d.Name == c.Name })
	switch {
	case at < 0:
		p.problem = fmt.Sprintf("Error: there is no tool named %q.", Clip(c.Name, 100))
		if len(tools) > 0 {
			names := make([]string, len(tools))
			for i, d := range tools {
				names[i] = d.Name
			}
			p.problem += " The tools are: " + strings.Join(names, ", ") + "."
		}
		return p
	case truncated && (problem != "" || strings.TrimSpace(c.Arguments) == ""):
		p.problem = "Error: the arguments were cut off where your answer reached its length limit. Call again with shorter ones."
	case problem != "":
		p.problem = fmt.Sprintf("Error: the arguments are %s, so nothing was done. Call again with a JSON object. You wrote: %s",
			problem, Clip(c.Arguments, maxQuoted))
	}
	p.def = tools[at]
	return p
}

// parseArguments returns arguments as a JSON object. If they are wrong, the object is empty and problem says why. Some
// models write nothing or null instead of an empty object, or put the object into a string. Some servers send the object
// twice, or an empty one before it.
func parseArguments(s string) (object, problem string) {
	raw := bytes.TrimSpace([]byte(s))
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil && strings.HasPrefix(strings.TrimSpace(quoted), "{") {
		raw = bytes.TrimSpace([]byte(quoted))
	}
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == `""`:
		return "{}", ""
	case !json.Valid(raw):
		only, ok := onlyObject(raw)
		if !ok {
			return "{}", "not valid JSON"
		}
		raw = []byte(only)
	case raw[0] != '{':
		return "{}", "not a JSON object"
	}
	if name, ok := duplicateName(json.NewDecoder(bytes.NewReader(raw))); ok {
		return "{}", fmt.Sprintf("an object that says %q twice", Clip(name, 100))
	}
	return string(raw), ""
}

// duplicateName returns a name that occurs twice in one object of the next value, which is valid JSON. JSON readers differ in
// which of the two counts, so a call could do something else than what a person approved.
func duplicateName(in *json.Decoder) (name string, ok bool) {
	begin, _ := in.Token()
	if _, nested := begin.(json.Delim); !nested {
		return "", false
	}
	names := make(map[json.Token]bool)
	for in.More() {
		if begin == json.Delim('{') {
			key, _ := in.Token()
			if names[key] {
				return fmt.Sprint(key), true
			}
			names[key] = true
		}
		if name, ok := duplicateName(in); ok {
			return name, true
		}
	}
	_, _ = in.Token() // the closing bracket
	return "", false
}

// onlyObject returns the only distinct object in a sequence of objects, ignoring empty ones.
func onlyObject(raw []byte) (only string, ok bool) {
	only = "{}"
	for in := json.NewDecoder(bytes.NewReader(raw)); ; {
		var next json.RawMessage
		switch err := in.Decode(&next); {
		case errors.Is(err, io.EOF):
			return only, true
		case err != nil || next[0] != '{':
			return "", false
		}
		switch object := string(next); {
		case object == "{}" || object == only:
		case only != "{}":
			return "", false
		default:
			only = object
		}
	}
}

// MaxToolName is the longest name of a tool that every provider accepts
// (https://platform.openai.com/docs/api-reference/chat/create: tools.function.name).
const MaxToolName = 64

// SafeName changes a tool's name so that every provider accepts it in a history.
func SafeName(name string) string {
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		default:
			return '_'
		}
	}, name)
	if name == "" {
		return "_"
	}
	return name[:min(len(name), MaxToolName)]
}

// callIDs makes the ids of calls unique in a turn: some servers number the calls of each answer from one.
type callIDs struct {
	used    map[string]bool
	current map[string]string // ids in the turn, by the ids in the current answer
}

// nextAnswer begins an answer.
func (c *callIDs) nextAnswer() { c.current = nil }

// turnID returns the id in the turn for an id in the current answer.
func (c *callIDs) turnID(id string) string {
	if known, ok := c.current[id]; ok {
		return known
	}
	if c.current == nil {
		c.current = make(map[string]string)
	}
	c.current[id] = c.unique(id)
	return c.current[id]
}

// unique returns an id that is new in the turn: the given id, or one that begins with it.
func (c *callIDs) unique(id string) string {
	unique := cmp.Or(id, "call")
	for n := 2; c.used[unique]; n++ {
		unique = cmp.Or(id, "call") + "_" + strconv.Itoa(n)
	}
	c.markUsed(unique)
	return unique
}

// markUsed records that the turn has a call with this id.
func (c *callIDs) markUsed(id string) {
	if c.used == nil {
		c.used = make(map[string]bool)
	}
	c.used[id] = true
}

// available returns the tools that a turn may use. A name that ends in "*" stands for all names with that prefix. If names
// is nil, all tools are available.
func available(tools []ToolDef, names []string) []ToolDef {
	if names == nil {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(d ToolDef) bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			prefix, all := strings.CutSuffix(name, "*")
			return all && strings.HasPrefix(d.Name, prefix) || d.Name == name
		})
	})
}

// specs returns the descriptions of tools for a model.
func specs(tools []ToolDef) []ToolSpec {
	out := make([]ToolSpec, len(tools))
	for i, d := range tools {
		out[i] = ToolSpec{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
	}
	return out
}

// withoutCalls turns the calls and their answers in the messages into text, for a model that accepts no tools. It keeps the
// number of messages.
func withoutCalls(messages []Message) []Message {
	if !hasCalls(messages) {
		return messages
	}
	out := slices.Clone(messages)
	for i, m := range out {
		switch {
		case len(m.ToolCalls) > 0:
			lines := make([]string, 0, len(m.ToolCalls)+1)
			if m.Text != "" {
				lines = append(lines, m.Text)
			}
			for _, c := range m.ToolCalls {
				lines = append(lines, fmt.Sprintf("(I used the tool %s: %s)", c.Name, c.Arguments))
			}
			out[i] = Message{Role: Assistant, Text: strings.Join(lines, "\n")}
		case m.Role == ToolRole:
			out[i] = Message{Role: User, Text: fmt.Sprintf("(Result of the tool %s:)\n%s", m.Name, m.Text), Images: m.Images}
		}
	}
	return out
}

func hasCalls(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.ToolCalls) > 0 || m.Role == ToolRole })
}
