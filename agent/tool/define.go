package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"telex/agent"
)

// define returns def with the JSON schema of the Go type A, and with a Call that validates the arguments and then calls run.
// If the arguments do not fit the schema, the error tells the model how to correct them. refine adds to the schema what Go's
// types can't express. refine may be nil.
func define[A any](
	def agent.ToolDef, refine func(*jsonschema.Schema), run func(context.Context, agent.Input, A) (agent.Output, error),
) (agent.ToolDef, error) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		return agent.ToolDef{}, fmt.Errorf("make the schema: %w", err)
	}
	if refine != nil {
		refine(schema)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return agent.ToolDef{}, fmt.Errorf("check the schema: %w", err)
	}
	if def.Parameters, err = json.Marshal(schema); err != nil {
		return agent.ToolDef{}, fmt.Errorf("write the schema: %w", err)
	}
	def.Call = func(ctx context.Context, in agent.Input) (agent.Output, error) {
		var loose any
		if err := json.Unmarshal([]byte(in.Arguments), &loose); err != nil {
			return agent.Output{}, fmt.Errorf("invalid JSON in the arguments: %w", err)
		}
		if err := resolved.Validate(loose); err != nil {
			return agent.Output{}, fmt.Errorf("the arguments do not fit the schema: %w", err)
		}
		var args A
		if err := json.Unmarshal([]byte(in.Arguments), &args); err != nil {
			return agent.Output{}, fmt.Errorf("read the arguments: %w", err)
		}
		return run(ctx, in, args)
	}
	return def, nil
}
