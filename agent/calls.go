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

// parsedCall is a model's tool call, together with the called tool, or with the reason why the call can't run.
type parsedCall struct {
	// ToolCall is the call as the history contains it. The call's name and arguments have been corrected, so that every
	// provider accepts them. The call's id is unique in the turn.
	ToolCall
	def      ToolDef
	approved bool   // the configuration approves the call, so no person is asked
	problem  string // tells the model why the call can't run; empty: it can run
}

// maxQuoted is how many bytes of invalid arguments an error message for the model may quote.
const maxQuoted = 2000

// parseCall parses a model's tool call. truncated says that the model's answer reached its length limit, so that the
// arguments of the last call may be incomplete.
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

// parseArguments returns the arguments of a call as a JSON object. If the arguments are invalid, the returned object is empty
// and problem says why. parseArguments accepts common mistakes: some models write nothing or null instead of an empty object,
// or put the object into a string. Some servers send the arguments twice, or send an empty object before the arguments.
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

// duplicateName reads the next value of valid JSON, and returns a name that occurs twice in one of its objects. If a name
// occurs twice, JSON parsers differ in which of the two values they use. With two values for one name, a tool could do
// something other than what a person saw and approved.
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
	_, _ = in.Token() // read the closing bracket
	return "", false
}

// onlyObject parses a sequence of JSON objects. If all non-empty objects in the sequence are equal, onlyObject returns this
// object.
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

// MaxToolName is the maximum length of a tool's name that every provider accepts
// (https://platform.openai.com/docs/api-reference/chat/create: tools.function.name).
const MaxToolName = 64

// SafeName changes a tool's name so that every provider accepts the name in a request.
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

// callIDs makes the ids of tool calls unique in a turn, because some servers number the calls of each answer from one.
type callIDs struct {
	used    map[string]bool
	current map[string]string // the unique id for each id of the current answer
}

// nextAnswer begins a new answer, in which the provider may use the same ids again.
func (c *callIDs) nextAnswer() { c.current = nil }

// turnID returns the unique id that replaces an id of the current answer.
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

// unique returns an id that no other call of the turn has: the given id, or the given id with a number after it. If the given
// id is empty, unique uses "call" instead.
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

// available returns the tools that a turn may use. A name that ends in "*" matches all names with that prefix. If names is
// nil, all tools are available.
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

// withoutCalls replaces the tool calls and their results in messages by text, for a model that accepts no tools. withoutCalls
// does not change the number of messages.
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
