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

// Limits of a tool's description, in bytes. The whole description is sent to the model with every request.
const (
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
	maxTitle       = 60
)

// define converts a server's tool to an agent's tool, but does not set the field Call.
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
		Revision:    hints(t),
		Timeout:     s.Timeout,
		Show:        func(string) string { return title },
	}, nil
}

// hints returns the server's hints about the effects of a tool as JSON, or an empty text if there are none.
func hints(t *sdk.Tool) string {
	if t.Annotations == nil {
		return ""
	}
	hints := *t.Annotations
	hints.Title = "" // people see the title, but it says nothing about effects
	raw, err := json.Marshal(hints)
	if err != nil || string(raw) == "{}" { // marshalling strings and booleans can't fail
		return ""
	}
	return string(raw)
}

// changes returns the names of the parts in which two definitions of a tool differ.
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

// titleOf returns the name of a tool that people see, according to the protocol's order of precedence.
func titleOf(t *sdk.Tool) string {
	annotated := ""
	if t.Annotations != nil {
		annotated = t.Annotations.Title
	}
	return agent.Clip(cmp.Or(agent.OneLine(t.Title), agent.OneLine(annotated), agent.OneLine(t.Name), "a tool"), maxTitle)
}

// parameters returns a schema that providers accept: an object with properties.
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
	delete(object, "$schema") // some providers refuse this keyword, and none needs it
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write its schema: %w", err)
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its schema has %d bytes, and %d is the most", len(raw), maxSchema)
	}
	return raw, nil
}
