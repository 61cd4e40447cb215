package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// What a server may say about a tool, in bytes. All of it goes to the model with every request.
const (
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
	maxTitle       = 60
)

// define returns a server's tool as an agent's, without its Call.
func (s Server) define(t *sdk.Tool) (agent.ToolDef, error) {
	switch {
	case t.Name == "":
		return agent.ToolDef{}, errors.New("it has no name")
	case len(t.Name) > maxListName:
		return agent.ToolDef{}, fmt.Errorf("its name exceeds %d bytes", maxListName)
	}
	schema, err := parameters(t.InputSchema)
	if err != nil {
		return agent.ToolDef{}, err
	}
	title := s.Name + ": " + titleOf(t)
	return agent.ToolDef{
		Name:        nameFor(s.Name, t.Name),
		Description: strings.Clone(agent.Clip(strings.ToValidUTF8(t.Description, "\uFFFD"), maxDescription)),
		Parameters:  schema,
		ReadOnly:    s.listed(s.ReadOnly, t.Name) || s.Trust && t.Annotations != nil && t.Annotations.ReadOnlyHint,
		AutoApprove: s.listed(s.AutoApprove, t.Name),
		Revision:    hintsOf(t),
		Timeout:     s.Timeout,
		Show:        func(string) string { return title },
	}, nil
}

// hintsOf returns what the server says of what a tool does, beside its description; empty when it says nothing.
func hintsOf(t *sdk.Tool) string {
	if t.Annotations == nil {
		return ""
	}
	hints := *t.Annotations
	hints.Title = "" // people see it, and decide nothing by it
	raw, err := json.Marshal(hints)
	if err != nil || string(raw) == "{}" { // a structure of texts and booleans can't fail
		return ""
	}
	return string(raw)
}

// changes says what of a tool is not what it was.
func changes(before, now agent.ToolDef) (parts []string) {
	for _, part := range []struct {
		name  string
		equal bool
	}{
		{"description", before.Description == now.Description},
		{"schema", bytes.Equal(before.Parameters, now.Parameters)},
		{"hints", before.Revision == now.Revision},
	} {
		if !part.equal {
			parts = append(parts, part.name)
		}
	}
	return parts
}

// titleOf returns a tool's name for people, by the protocol's order of precedence.
func titleOf(t *sdk.Tool) string {
	annotated := ""
	if t.Annotations != nil {
		annotated = t.Annotations.Title
	}
	return agent.Clip(cmp.Or(agent.OneLine(t.Title), agent.OneLine(annotated), agent.OneLine(t.Name), "a tool"), maxTitle)
}

// parameters returns a schema of the kind that providers take: an object with properties.
func parameters(schema any) (json.RawMessage, error) {
	if schema == nil {
		schema = map[string]any{}
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is not an object")
	}
	switch object["type"] {
	case nil:
		object["type"] = "object"
	case "object":
	default:
		return nil, errors.New("its arguments are not an object")
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{}
	}
	delete(object, "$schema") // some providers refuse it, and to none it matters
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write its schema: %w", err)
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its schema has %d bytes, and %d is the most", len(raw), maxSchema)
	}
	return raw, nil
}
