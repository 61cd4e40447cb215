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

// parsedCall is a call that a model asked for: ready to be run, or to be given back.
type parsedCall struct {
	// ToolCall is what the history keeps. Every provider takes its name and its arguments, whatever the
	// model wrote, and its id is the only one of its kind in the turn.
	ToolCall
	def      ToolDef
	approved bool   // by the operator, once for all
	problem  string // why it can't be run, for the model to mend it; empty: it can
}

// maxQuoted bounds, in bytes, what of a model's mistake is shown to it again.
const maxQuoted = 2000

// parseCall makes a call of what a model wrote. cut says that its answer ended at the output limit.
func parseCall(c ToolCall, tools []ToolDef, cut bool) parsedCall {
	p := parsedCall{ToolCall: c}
	p.Name = SafeName(c.Name)
	arguments, why := parseArguments(c.Arguments)
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
	case cut && (why != "" || strings.TrimSpace(c.Arguments) == ""):
		p.problem = "Error: the arguments were cut off where your answer reached its length limit. Call again with shorter ones."
	case why != "":
		p.problem = fmt.Sprintf("Error: the arguments are %s, so nothing was done. Call again with a JSON object. You wrote: %s",
			why, Clip(c.Arguments, maxQuoted))
	}
	p.def = tools[at]
	return p
}

// parseArguments returns arguments as a JSON object, and what is wrong with them; then the object is
// empty. Some models write nothing or null for no arguments, or quote the object once more; some servers
// send it twice, or an empty one before it.
func parseArguments(s string) (object, why string) {
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

// duplicateName returns a name that an object of the next value holds twice. The JSON is valid. Readers differ in which one counts,
// so that a call could do something else than what was approved.
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
	_, _ = in.Token() // its end
	return "", false
}

// onlyObject returns the one object in a row of them that is neither empty nor there before.
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

// MaxToolName is the longest name of a tool that every provider takes
// (https://platform.openai.com/docs/api-reference/chat/create: tools.function.name).
const MaxToolName = 64

// SafeName returns a tool's name that every provider takes in a history.
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

// callIDs makes the ids of calls unique in a turn: some servers count anew in each answer.
type callIDs struct {
	used map[string]bool
	now  map[string]string // by the ids of the current answer
}

// next begins an answer.
func (c *callIDs) next() { c.now = nil }

// of returns the turn's id for the current answer's.
func (c *callIDs) of(id string) string {
	if known, ok := c.now[id]; ok {
		return known
	}
	if c.now == nil {
		c.now = make(map[string]string)
	}
	c.now[id] = c.fresh(id)
	return c.now[id]
}

// fresh returns an id that is not in the turn yet, like this one.
func (c *callIDs) fresh(id string) string {
	unique := cmp.Or(id, "call")
	for n := 2; c.used[unique]; n++ {
		unique = cmp.Or(id, "call") + "_" + strconv.Itoa(n)
	}
	c.use(unique)
	return unique
}

// use takes an id that is in the turn already.
func (c *callIDs) use(id string) {
	if c.used == nil {
		c.used = make(map[string]bool)
	}
	c.used[id] = true
}

// available returns the tools that a turn may use. A name that ends in "*" stands for all that begin so;
// no list stands for every tool.
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

// specs returns the tools as a model sees them.
func specs(tools []ToolDef) []ToolSpec {
	out := make([]ToolSpec, len(tools))
	for i, d := range tools {
		out[i] = ToolSpec{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
	}
	return out
}

// withoutCalls returns the messages with calls and their answers told as text, one for one, for a model
// that takes no tools.
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
