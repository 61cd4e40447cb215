package tool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"telex/agent"
)

// The names of the groups that Options.Enabled takes.
const (
	Time   = "time"   // one tool: time
	Fetch  = "fetch"  // one tool: fetch
	Memory = "memory" // three tools: remember, recall, forget

	HAStates      = "ha_states"       // one tool: ha_states
	HACallService = "ha_call_service" // one tool: ha_call_service
)

// Groups returns the names that Options.Enabled takes.
func Groups() []string { return []string{Time, Fetch, Memory, HAStates, HACallService} }

// Options configure New.
type Options struct {
	Enabled []string // of Groups; each once is enough
	// Zone is the zone that times are told in where the model asks for none; nil: UTC.
	Zone  *time.Location
	Fetch FetchOptions
	// Facts keeps what is remembered; needed for Memory.
	Facts Facts
	// Home is the Home Assistant to use; needed for HAStates and HACallService.
	Home HomeOptions
}

// Fixed is a toolbox whose tools never change.
type Fixed []agent.ToolDef

// Tools returns the tools. The slice is the caller's.
func (f Fixed) Tools() []agent.ToolDef { return slices.Clone(f) }

// New returns the built-in tools that are enabled.
func New(o Options) (Fixed, error) {
	var tools Fixed
	for _, group := range Groups() {
		if !slices.Contains(o.Enabled, group) {
			continue
		}
		made, err := o.group(group)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", group, err)
		}
		tools = append(tools, made...)
	}
	for _, name := range o.Enabled {
		if !slices.Contains(Groups(), name) {
			return nil, fmt.Errorf("unknown tool %q", name)
		}
	}
	return tools, nil
}

func (o Options) group(name string) ([]agent.ToolDef, error) {
	switch name {
	case Time:
		def, err := newClock(o.Zone)
		return []agent.ToolDef{def}, err
	case Fetch:
		def, err := newFetch(o.Fetch)
		return []agent.ToolDef{def}, err
	case HAStates:
		def, err := newStates(o.Home)
		return []agent.ToolDef{def}, err
	case HACallService:
		def, err := newService(o.Home)
		return []agent.ToolDef{def}, err
	default:
		return newMemory(o.Facts)
	}
}

// Join returns a toolbox with the tools of all boxes, in their order. Of tools with one name the first stands:
// an MCP server can't take the place of a built-in tool when the built-in ones come first.
func Join(boxes ...agent.Toolbox) agent.Toolbox { return joined(boxes) }

type joined []agent.Toolbox

// Tools returns the tools there are now. The slice is the caller's.
func (j joined) Tools() []agent.ToolDef {
	var all []agent.ToolDef
	seen := map[string]bool{}
	for _, box := range j {
		for _, def := range box.Tools() {
			if !seen[def.Name] {
				seen[def.Name] = true
				all = append(all, def)
			}
		}
	}
	return all
}

// Await implements agent.Awaiter for those boxes that do.
func (j joined) Await(ctx context.Context) {
	for _, box := range j {
		if a, ok := box.(agent.Awaiter); ok {
			a.Await(ctx)
		}
	}
}
