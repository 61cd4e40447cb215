package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"telex/agent"
)

// serviceTime is how long an action may take: scripts and scenes take their time.
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

// showService names the action, once its name is complete.
func showService(arguments string) string {
	domain, complete := partial(arguments, "domain")
	service, whole := partial(arguments, "service")
	if !complete || !whole || (serviceArgs{Domain: domain, Service: service}).check() != nil {
		return ""
	}
	return "Calling " + domain + "." + service
}

// parseService reads the arguments of a call: people are shown what is sent, to the digit.
func parseService(arguments string) (args serviceArgs, err error) {
	in := json.NewDecoder(strings.NewReader(arguments))
	in.DisallowUnknownFields()
	in.UseNumber()
	if err := in.Decode(&args); err != nil {
		return args, fmt.Errorf("read the arguments: %w", err)
	}
	return args, args.check()
}

// proposeService says what a call does, such as "light.turn_on on light.kitchen {brightness: 120}".
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
		text += " " + flow(args.Data)
	}
	if args.Response {
		text += ", returning data"
	}
	return text
}

// flow writes a value as YAML's flow style does.
func flow(value any) string {
	switch v := value.(type) {
	case map[string]any:
		fields := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := key
			if !homeName.MatchString(key) {
				name = flow(key)
			}
			fields = append(fields, name+": "+flow(v[key]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		items := make([]string, 0, len(v))
		for _, item := range v {
			items = append(items, flow(item))
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

// entities returns the ids of the entities to act on.
func (a serviceArgs) entities() []string {
	var ids []string
	for id := range strings.SplitSeq(a.EntityID, ",") {
		ids = append(ids, strings.TrimSpace(id))
	}
	return ids
}

// check says what is wrong with the arguments.
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
			return fmt.Errorf("%q is no entity id; write one such as light.kitchen", agent.Clip(agent.OneLine(id), 100))
		}
	}
	return nil
}

// lookFirst is about a call whose outcome nobody knows.
const lookFirst = "Whether the call took effect is unknown: look with " + HAStates + " before you call it again"

func (h *home) service(ctx context.Context, in agent.Input, _ serviceArgs) (agent.Output, error) {
	args, err := parseService(in.Arguments)
	if err != nil {
		return agent.Output{}, err
	}
	data := maps.Clone(args.Data)
	if data == nil {
		data = map[string]any{}
	}
	if args.EntityID != "" {
		data["entity_id"] = args.entities()
		if args.EntityID == "all" {
			data["entity_id"] = args.EntityID
		}
	}
	path := "services/" + args.Domain + "/" + args.Service
	if args.Response {
		path += "?return_response"
	}
	var text string
	err = h.call(ctx, http.MethodPost, path, data, into(&text))
	switch {
	case err == nil:
		return agent.Output{Text: outcome(text)}, nil
	case errors.Is(err, errUnsent):
		return agent.Output{}, err
	case status(err) == http.StatusBadRequest || status(err) == http.StatusNotFound:
		return agent.Output{}, fmt.Errorf("nothing was done: Home Assistant refused the call. %s", h.explain(ctx, args, err)) //nolint:revive // for a model
	case status(err) == http.StatusInternalServerError: // an error of the action itself
		return agent.Output{}, fmt.Errorf("%w: the action failed. The entity may not be able to do that, or a value is out of range. %s", err, lookFirst)
	case status(err) > http.StatusInternalServerError, status(err) == 0:
		return agent.Output{}, fmt.Errorf("%w. %s", err, lookFirst)
	}
	return agent.Output{}, err
}

// outcome says what a call changed.
func outcome(answer string) string {
	var changed []homeState
	var both struct {
		Changed  []homeState     `json:"changed_states"`
		Response json.RawMessage `json:"service_response"`
	}
	if json.Unmarshal([]byte(answer), &changed) != nil && json.Unmarshal([]byte(answer), &both) != nil {
		return "Done."
	}
	changed = append(changed, both.Changed...)
	text := "Done. No state changed meanwhile: if one should have, look with " + HAStates + " whether the entity exists and is available."
	if len(both.Response) > 0 {
		text = "Done."
	}
	if len(changed) > 0 {
		var lines []string
		for _, s := range changed {
			lines = append(lines, s.line())
		}
		text = "Done. What changed meanwhile:\n" + listed(lines)
	}
	if len(both.Response) > 0 {
		text += "\nIt returned: " + agent.OneLine(string(both.Response))
	}
	return agent.Clip(text, maxHomeText)
}

// explain says why a call was refused, which the answer itself mostly does not: with the actions that there are, or the fields
// that this one takes.
func (h *home) explain(ctx context.Context, args serviceArgs, refusal error) string {
	type domain struct {
		Domain   string                     `json:"domain"`
		Services map[string]json.RawMessage `json:"services"`
	}
	var found domain
	err := h.call(ctx, http.MethodGet, "services", nil, func(r io.Reader) error {
		return each(func(d domain) {
			if d.Domain == args.Domain {
				found = d
			}
		})(r)
	})
	if err != nil {
		return refusal.Error()
	}
	about, exists := found.Services[args.Service]
	switch {
	case found.Domain == "":
		return fmt.Sprintf("There is no domain %s.", args.Domain)
	case !exists:
		return agent.Clip(fmt.Sprintf("There is no %s.%s; %s has %s.", args.Domain, args.Service, args.Domain,
			strings.Join(slices.Sorted(maps.Keys(found.Services)), ", ")), 2000)
	}
	var described struct {
		Fields map[string]json.RawMessage `json:"fields"`
	}
	if json.Unmarshal(about, &described) != nil || len(described.Fields) == 0 {
		return refusal.Error()
	}
	return agent.Clip(fmt.Sprintf("%s. The fields that %s.%s takes: %s.", refusal, args.Domain, args.Service,
		strings.Join(slices.Sorted(maps.Keys(described.Fields)), ", ")), 2000)
}
