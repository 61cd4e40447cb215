package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"telex/agent"
)

// serviceTime is how long an action of Home Assistant may take. Scripts and scenes of Home Assistant can be slow.
const serviceTime = time.Minute

type serviceArgs struct {
	Domain   string         `json:"domain" jsonschema:"the action's domain, such as light"`
	Service  string         `json:"service" jsonschema:"the action's name in the domain, such as turn_on"`
	EntityID string         `json:"entity_id,omitempty" jsonschema:"the entity to act on, such as light.kitchen; several with commas between them"`
	Data     map[string]any `json:"data,omitempty" jsonschema:"the action's other fields, such as brightness; an area_id or a device_id may stand here in place of entity_id"`
	Response bool           `json:"return_response,omitempty" jsonschema:"true for an action that returns data, such as weather.get_forecasts"`
}

// newService returns the tool ha_call_service.
func newService(o HomeOptions) (agent.ToolDef, error) {
	h, err := newHome(o)
	if err != nil {
		return agent.ToolDef{}, err
	}
	return define(agent.ToolDef{
		Name: HACallService,
		Description: "Calls an action (a service) of the Home Assistant installation: switches lights, sets temperatures, runs scripts and so on. " +
			"A person must approve each call. Find the entities with " + HAStates + " first, if you can.",
		Outside: agent.OutsideResults, Timeout: serviceTime,
		Show: showService, Propose: proposeService,
	}, nil, h.service)
}

// showService returns a line for people that names the action, as soon as the model has written the complete name.
func showService(arguments string) string {
	domain, complete := partial(arguments, "domain")
	service, whole := partial(arguments, "service")
	if !complete || !whole || (serviceArgs{Domain: domain, Service: service}).check() != nil {
		return ""
	}
	return "Calling " + domain + "." + service
}

// parseService parses the arguments of a call. parseService keeps numbers as the model wrote them, so that people approve
// exactly what is sent.
func parseService(arguments string) (args serviceArgs, err error) {
	in := json.NewDecoder(strings.NewReader(arguments))
	in.DisallowUnknownFields()
	in.UseNumber()
	if err := in.Decode(&args); err != nil {
		return args, fmt.Errorf("read the arguments: %w", err)
	}
	return args, args.check()
}

// proposeService describes a call to the person who must approve it, such as "light.turn_on on light.kitchen {brightness:
// 120}".
func proposeService(arguments string) string {
	args, err := parseService(arguments)
	if err != nil {
		return ""
	}
	text := args.Domain + "." + args.Service
	if args.EntityID != "" {
		text += " on " + strings.Join(args.entities(), ", ")
	}
	if len(args.Data) > 0 {
		text += " " + flowYAML(args.Data)
	}
	if args.Response {
		text += ", returning data"
	}
	return text
}

// flowYAML encodes a value in YAML's flow style.
func flowYAML(value any) string {
	switch v := value.(type) {
	case map[string]any:
		fields := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := key
			if !homeName.MatchString(key) {
				name = flowYAML(key)
			}
			fields = append(fields, name+": "+flowYAML(v[key]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		items := make([]string, 0, len(v))
		for _, item := range v {
			items = append(items, flowYAML(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		if homeName.MatchString(v) && strings.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz") && v != "true" && v != "false" && v != "null" {
			return v
		}
	}
	var text strings.Builder
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if out.Encode(value) != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(text.String())
}

// entities returns the ids of the affected entities.
func (a serviceArgs) entities() []string {
	var ids []string
	for id := range strings.SplitSeq(a.EntityID, ",") {
		ids = append(ids, strings.TrimSpace(id))
	}
	return ids
}

// check returns an error that tells the model what is wrong with the arguments.
func (a serviceArgs) check() error {
	if !homeName.MatchString(a.Domain) || !homeName.MatchString(a.Service) {
		return errors.New("the domain and the service are names such as light and turn_on, without a dot")
	}
	if _, twice := a.Data["entity_id"]; twice {
		return errors.New("entity_id stands beside data, not in it")
	}
	if a.EntityID == "" || a.EntityID == "all" {
		return nil
	}
	for _, id := range a.entities() {
		if !homeEntity.MatchString(id) {
			return fmt.Errorf("%q is not an entity id; write one such as light.kitchen", agent.Clip(agent.OneLine(id), 100))
		}
	}
	return nil
}

// outcomeUnknown is a hint for the model after a call whose outcome is unknown.
const outcomeUnknown = "Whether the call took effect is unknown: look with " + HAStates + " before you call it again"

// maxShown is the number of entities whose new states a call reports.
const maxShown = 20

func (h *home) service(ctx context.Context, in agent.Input, _ serviceArgs) (agent.Output, error) {
	args, err := parseService(in.Arguments)
	if err != nil {
		return agent.Output{}, err
	}
	call := map[string]any{"type": "call_service", "domain": args.Domain, "service": args.Service}
	if len(args.Data) > 0 {
		call["service_data"] = args.Data
	}
	if args.EntityID == "all" {
		call["target"] = map[string]any{"entity_id": args.EntityID}
	} else if args.EntityID != "" {
		call["target"] = map[string]any{"entity_id": args.entities()}
	}
	if args.Response {
		call["return_response"] = true
	}
	var result struct {
		Response json.RawMessage `json:"response"`
	}
	if err := h.command(ctx, call, &result); err != nil {
		return agent.Output{}, err
	}
	text := "Done."
	if args.EntityID != "" && args.EntityID != "all" {
		text += " The states are now:" + h.statesAfter(ctx, args.entities())
	}
	if args.Response {
		text += "\nIt returned: " + agent.OneLine(string(result.Response))
	}
	return agent.Output{Text: agent.Clip(text, maxHomeText)}, nil
}

// statesAfter returns the states of entities after a call. Home Assistant ignores unknown entities, so statesAfter tells the
// model about them.
func (h *home) statesAfter(ctx context.Context, ids []string) string {
	var text strings.Builder
	for _, id := range ids[:min(len(ids), maxShown)] {
		var s homeState
		said := id + ": can't be read now"
		switch err := h.call(ctx, http.MethodGet, "states/"+id, nil, into(&s)); {
		case err == nil:
			said = s.line()
		case status(err) == http.StatusNotFound:
			said = id + ": there is no such entity, so nothing was done with it"
		}
		text.WriteString("\n" + said)
	}
	return text.String()
}
