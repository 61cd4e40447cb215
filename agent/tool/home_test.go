package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/agent"
)

const homeToken = "the-token-of-the-house"

// homeServer is a server that speaks as much of Home Assistant's REST API as the tools need.
type homeServer struct {
	*httptest.Server
	mu      sync.Mutex
	states  []string
	calls   []string // path and body
	answers map[string]func(http.ResponseWriter)
}

func newHomeServer(t *testing.T) *homeServer {
	t.Helper()
	h := &homeServer{answers: map[string]func(http.ResponseWriter){}, states: []string{
		`{"entity_id":"light.kitchen","state":"on","attributes":{"friendly_name":"Kitchen light","brightness":120,"effects":["a","b"]},"last_changed":"2026-11-23T10:00:00+00:00"}`,
		`{"entity_id":"light.hall","state":"off","attributes":{"friendly_name":"Hall"}}`,
		`{"entity_id":"sensor.bath","state":"21.5","attributes":{"friendly_name":"Bath\ntemperature","unit_of_measurement":"°C"}}`,
		`{"entity_id":7}`,
	}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *homeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Authorization") != "Bearer "+homeToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	path := strings.TrimPrefix(r.URL.RequestURI(), "/api/")
	h.calls = append(h.calls, strings.TrimSpace(path+" "+string(body)))
	switch answer := h.answers[path]; {
	case answer != nil:
		answer(w)
	case path == "states":
		fmt.Fprintf(w, "[%s]", strings.Join(h.states, ","))
	case path == "states/light.kitchen":
		fmt.Fprint(w, h.states[0])
	case path == "template":
		fmt.Fprint(w, `["light.kitchen", "sensor.bath"]`)
	case path == "services":
		fmt.Fprint(w, `[{"domain":"light","services":{"turn_on":{"fields":{"brightness":{},"transition":{}}},"turn_off":{"fields":{}}}}]`)
	case path == "services/light/turn_on":
		fmt.Fprintf(w, "[%s]", h.states[0])
	case strings.HasPrefix(path, "services/weather/get_forecasts"):
		fmt.Fprint(w, `{"changed_states":[],"service_response":{"weather.home":{"forecast":["rain"]}}}`)
	case strings.HasPrefix(path, "services/"):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "400: Bad Request")
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"Entity not found."}`)
	}
}

// tool returns one of the tools for the server.
func (h *homeServer) tool(t *testing.T, name string) agent.ToolDef {
	t.Helper()
	tools, err := New(Options{Enabled: []string{HAStates, HACallService}, Home: HomeOptions{URL: h.URL + "/", Token: homeToken}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(d agent.ToolDef) bool { return d.Name == name })
	return tools[i]
}

// answer lets the server answer otherwise at a path.
func (h *homeServer) answer(path string, f func(http.ResponseWriter)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[path] = f
}

func (h *homeServer) call(t *testing.T, name, arguments string) (string, error) {
	t.Helper()
	out, err := h.tool(t, name).Call(t.Context(), agent.Input{Arguments: arguments})
	if err != nil && strings.Contains(err.Error(), homeToken) {
		t.Errorf("the error holds the token: %v", err)
	}
	return out.Text, err
}

func TestHomeToolDefinitions(t *testing.T) {
	t.Parallel()
	h := newHomeServer(t)
	states, service := h.tool(t, HAStates), h.tool(t, HACallService)
	if !states.ReadOnly || states.Outside != agent.OutsideResults || service.ReadOnly || service.AutoApprove || service.Outside != agent.OutsideResults {
		t.Errorf("%+v, %+v", states, service)
	}
	if _, err := New(Options{Enabled: []string{HAStates}}); err == nil {
		t.Error("a tool without a Home Assistant was taken")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	const kitchen, hall, bath = "light.kitchen (Kitchen light): on", "light.hall (Hall): off", "sensor.bath (Bath temperature): 21.5 °C"
	for arguments, want := range map[string]string{
		`{}`:                                        hall + "\n" + kitchen + "\n" + bath,
		`{"domain":"light"}`:                        hall + "\n" + kitchen,
		`{"search":"BATH temp"}`:                    bath,
		`{"search":"garage"}`:                       "No entity matches.",
		`{"area":"Kitchen"}`:                        kitchen + "\n" + bath,
		`{"area":"Kitchen","domain":"light"}`:       kitchen,
		`{"entity_id":"light.kitchen"}`:             kitchen + "\nsince: 2026-11-23T10:00:00+00:00\nbrightness: 120\neffects: [\"a\",\"b\"]",
		`{"entity_id":"light.garage"}`:              "error: there is no entity light.garage; find the right id with search, domain or area",
		`{"entity_id":"../config"}`:                 "error: this is no entity id; write one such as light.kitchen, or search for it",
		`{"entity_id":"light.kitchen?x","area":""}`: "error: this is no entity id; write one such as light.kitchen, or search for it",
	} {
		got, err := newHomeServer(t).call(t, HAStates, arguments)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", arguments, got, want)
		}
	}
}

// The area is no part of a template.
func TestAreaIsNoTemplate(t *testing.T) {
	t.Parallel()
	h := newHomeServer(t)
	if _, err := h.call(t, HAStates, `{"area":"{{ states }}"}`); err != nil {
		t.Fatal(err)
	}
	if want := `template {"template":"{{ area_entities(area) | to_json }}","variables":{"area":"{{ states }}"}}`; h.calls[0] != want {
		t.Errorf("called %s, want %s", h.calls[0], want)
	}
	h.answer("template", func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := h.call(t, HAStates, `{"area":"Kitchen"}`); err == nil || !strings.Contains(err.Error(), "administrator") {
		t.Errorf("error = %v", err)
	}
}

// A large house is read, and a small part of it told.
func TestManyStates(t *testing.T) {
	t.Parallel()
	h := newHomeServer(t)
	for i := range 5000 {
		h.states = append(h.states, fmt.Sprintf(`{"entity_id":"sensor.s%d","state":"%d","attributes":{"friendly_name":"%s"}}`, i, i, strings.Repeat("x", 300)))
	}
	if got, err := h.call(t, HAStates, `{}`); err != nil || !strings.Contains(got, "\nsensor: 5001") || len(got) > 500 {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := h.call(t, HAStates, `{"domain":"sensor"}`); err != nil || !strings.Contains(got, "more; narrow the list") || len(got) > maxHomeText+100 {
		t.Errorf("%d bytes: %s, %v", len(got), got[max(0, len(got)-200):], err)
	}
	h.answer("states", func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `["`+strings.Repeat("x", maxHomeList)+`"]`)
	})
	if _, err := h.call(t, HAStates, `{}`); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error = %v", err)
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arguments, called, want string }{
		{
			`{"domain":"light","service":"turn_on","entity_id":"light.kitchen, light.hall","data":{"brightness":12345678901234567890}}`,
			`services/light/turn_on {"brightness":12345678901234567890,"entity_id":["light.kitchen","light.hall"]}`,
			"Done. What changed meanwhile:\nlight.kitchen (Kitchen light): on",
		},
		{`{"domain":"weather","service":"get_forecasts","entity_id":"weather.home","return_response":true}`,
			`services/weather/get_forecasts?return_response {"entity_id":["weather.home"]}`,
			`Done.` + "\n" + `It returned: {"weather.home":{"forecast":["rain"]}}`},
		{`{"domain":"light","service":"turn_on","entity_id":"all"}`, `services/light/turn_on {"entity_id":"all"}`, "Done. What changed meanwhile:\nlight.kitchen (Kitchen light): on"},
		{`{"domain":"light","service":"explode"}`, "services/light/explode {}", "error: nothing was done: Home Assistant refused the call. There is no light.explode; light has turn_off, turn_on."},
		{`{"domain":"lamp","service":"turn_on"}`, "services/lamp/turn_on {}", "error: nothing was done: Home Assistant refused the call. There is no domain lamp."},
		{`{"domain":"../x","service":"turn_on"}`, "", "error: the domain and the service are names such as light and turn_on, without a dot"},
		{`{"domain":"light","service":"light.turn_on"}`, "", "error: the domain and the service are names such as light and turn_on, without a dot"},
		{`{"domain":"light","service":"turn_on","entity_id":"Kitchen"}`, "", `error: "Kitchen" is no entity id; write one such as light.kitchen`},
		{`{"domain":"light","service":"turn_on","data":{"entity_id":"light.secret"}}`, "", "error: entity_id stands beside data, not in it"},
	} {
		h := newHomeServer(t)
		got, err := h.call(t, HACallService, c.arguments)
		if err != nil {
			got = "error: " + err.Error()
		}
		called := ""
		if len(h.calls) > 0 {
			called = h.calls[0]
		}
		if got != c.want || called != c.called {
			t.Errorf("%s:\n got %s\nwant %s\ncalled %s, want %s", c.arguments, got, c.want, called, c.called)
		}
	}
}

// What can't be known is said: a call is not repeated blindly.
func TestServiceTrouble(t *testing.T) {
	t.Parallel()
	const turnOn, unknown = `{"domain":"light","service":"turn_on"}`, "is unknown: look with ha_states"
	h := newHomeServer(t)
	answer := func(f func(http.ResponseWriter)) { h.answer("services/light/turn_on", f) }
	want := func(name, arguments, text string) {
		t.Helper()
		if _, err := h.call(t, HACallService, arguments); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error = %v, want %q", name, err, text)
		}
	}
	answer(func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	want("a failure", turnOn, unknown)
	answer(func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
	want("a lost connection", turnOn, unknown)
	answer(func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("x", 2<<20)) })
	want("a large answer", turnOn, "larger than 1 MB")
	answer(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) })
	want("wrong fields", turnOn, "takes: brightness, transition")
	answer(func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) })
	want("no permission", turnOn, "refused the access token")
	answer(func(w http.ResponseWriter) {
		w.Header().Set("Location", h.URL+"/api/states")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	want("a redirect", turnOn, "status 307")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if _, err := h.tool(t, HACallService).Call(ctx, agent.Input{Arguments: turnOn}); err == nil {
		t.Error("a call succeeded after its time")
	}
	h.Close()
	want("nobody there", turnOn, "nothing was sent")
}

func TestProposeService(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"domain":"light","service":"turn_on","entity_id":"light.kitchen","data":{"brightness":120}}`:                                                            "light.turn_on on light.kitchen {brightness: 120}",
		`{"domain":"light","service":"turn_off","entity_id":"light.a,light.b"}`:                                                                                   "light.turn_off on light.a, light.b",
		`{"domain":"notify","service":"phone","data":{"message":"Hi, you","b":true,"c":null,"d":"true","n":12345678901234567890,"l":["x",1.50],"m":{"k y":"z"}}}`: `notify.phone {b: true, c: null, d: "true", l: [x, 1.50], m: {"k y": z}, message: "Hi, you", n: 12345678901234567890}`,
		`{"domain":"tts","service":"speak","data":{"message":"<b> & {{ x }}"}}`:                                                                                   `tts.speak {message: "<b> & {{ x }}"}`,
		`{"domain":"weather","service":"get","return_response":true}`:                                                                                             "weather.get, returning data",
		`{"domain":"light","service":"turn_on","hidden":"field"}`:                                                                                                 "",
		`{"domain":"light turn_on on light.a","service":"x"}`:                                                                                                     "",
		`{"domain":"light","service":"turn_on","entity_id":"light.a {brightness: 1}"}`:                                                                            "",
		`{"domain":"light"`: "",
	} {
		if got := proposeService(arguments); got != want {
			t.Errorf("%s:\n got %s\nwant %s", arguments, got, want)
		}
	}
	if got := showService(`{"domain":"light","service":"turn_on","data":{`); got != "Calling light.turn_on" {
		t.Errorf("shown is %q", got)
	}
	if got := showService(`{"domain":"light","service":"turn`); got != "" {
		t.Errorf("shown is %q", got)
	}
}

// Whatever data there is, it reads back as what is sent: the words hide nothing.
func FuzzProposeService(f *testing.F) {
	f.Add(`{"a":1,"b":"x, c: 2","d":{"e":[]}}`)
	f.Fuzz(func(t *testing.T, data string) {
		var fields map[string]any
		if json.Unmarshal([]byte(data), &fields) != nil || len(fields) == 0 {
			return
		}
		text := flow(fields)
		for key := range fields {
			if homeName.MatchString(key) && !strings.Contains(text, key+": ") {
				t.Errorf("%s does not show %s", text, key)
			}
		}
	})
}
