package tool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"telex/agent"
)

// Names for Options.Enabled.
const (
	Time   = "time"   // one tool: time
	Fetch  = "fetch"  // one tool: fetch
	Memory = "memory" // three tools: remember, recall, forget

	HAStates      = "ha_states"       // one tool: ha_states
	HACallService = "ha_call_service" // one tool: ha_call_service
)

// Groups returns all names for Options.Enabled.
func Groups() []string { return []string{Time, Fetch, Memory, HAStates, HACallService} }

// Options configure New.
type Options struct {
	Enabled []string // names of Groups, in any order
	// Zone is the default time zone. If Zone is nil, it is UTC.
	Zone  *time.Location
	Fetch FetchOptions
	// Facts stores the facts; required for Memory.
	Facts Facts
	// Home configures the Home Assistant installation; required for HAStates and HACallService.
	Home HomeOptions
}

// Fixed is a toolbox whose tools never change.
type Fixed []agent.ToolDef

// Tools returns a copy of the tools.
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

// Join returns a toolbox with the tools of all boxes, in their order. If two tools have the same name, the toolbox contains
// only the first one. So an MCP server can't replace a built-in tool if the built-in tools come first.
func Join(boxes ...agent.Toolbox) agent.Toolbox { return joined(boxes) }

type joined []agent.Toolbox

// Tools returns a new slice of the current tools.
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

// Await implements agent.Awaiter. Await waits for those boxes that implement agent.Awaiter.
func (j joined) Await(ctx context.Context) {
	for _, box := range j {
		if a, ok := box.(agent.Awaiter); ok {
			a.Await(ctx)
		}
	}
}
