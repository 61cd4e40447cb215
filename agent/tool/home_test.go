package tool

import (
	"cmp"
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

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"telex/agent"
)

const homeToken = "the-token-of-the-house"

// homeServer is a server with the part of Home Assistant's REST API that the tools need.
type homeServer struct {
	*httptest.Server
	mu      sync.Mutex
	states  []string
	calls   []string // path and body of each call
	answers map[string]func(http.ResponseWriter)
	result  string // the end of the response to the next command; "cut": the connection breaks; "hang": no response comes
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
	if r.URL.Path == "/api/websocket" {
		if answer := h.answers["websocket"]; answer != nil {
			answer(w)
			return
		}
		h.mu.Unlock()
		h.socket(w, r)
		h.mu.Lock()
		return
	}
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

// socket handles a WebSocket connection. socket answers one command.
func (h *homeServer) socket(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow() //nolint:errcheck // the test is over
	ctx := r.Context()
	say := func(text string) { _ = ws.Write(ctx, websocket.MessageText, []byte(text)) }
	say(`{"type":"auth_required"}`)
	var auth struct {
		Token string `json:"access_token"`
	}
	if wsjson.Read(ctx, ws, &auth) != nil || auth.Token != homeToken {
		say(`{"type":"auth_invalid","message":"Invalid access token or password"}`)
		return
	}
	say(`{"type":"auth_ok"}`)
	_, command, err := ws.Read(ctx)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.calls = append(h.calls, strings.TrimSpace(string(command)))
	result := cmp.Or(h.result, `"success":true,"result":{"response":null}`)
	h.mu.Unlock()
	switch result {
	case "hang":
		_, _, _ = ws.Read(ctx) // until the client closes the connection
	case "cut":
	default:
		say(`{"id":1,"type":"result",` + result + `}`)
		_, _, _ = ws.Read(ctx)
	}
}

// will sets the response to later commands.
func (h *homeServer) will(result string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.result = result
}

// answer sets the server's response at a path.
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
		`{"entity_id":"../config"}`:                 "error: this is not an entity id; write one such as light.kitchen, or search for it",
		`{"entity_id":"light.kitchen?x","area":""}`: "error: this is not an entity id; write one such as light.kitchen, or search for it",
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

// If the name of an area contains template code, Home Assistant must not run this code.
func TestAreaIsEscapedInTemplates(t *testing.T) {
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

// Even if a house has very many entities, ha_states reads the states of all of them, and returns only a small part.
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
	for _, c := range []struct{ arguments, called, result, want string }{
		{
			`{"domain":"light","service":"turn_on","entity_id":"light.kitchen, light.garage","data":{"brightness":12345678901234567890}}`,
			`{"domain":"light","id":1,"service":"turn_on","service_data":{"brightness":12345678901234567890},"target":{"entity_id":["light.kitchen","light.garage"]},"type":"call_service"}`, "",
			"Done. The states are now:\nlight.kitchen (Kitchen light): on\nlight.garage: there is no such entity, so nothing was done with it",
		},
		{
			`{"domain":"weather","service":"get_forecasts","data":{"area_id":"home"},"return_response":true}`,
			`{"domain":"weather","id":1,"return_response":true,"service":"get_forecasts","service_data":{"area_id":"home"},"type":"call_service"}`,
			`"success":true,"result":{"context":{},"response":{"weather.home":["rain"]}}`, `Done.` + "\n" + `It returned: {"weather.home":["rain"]}`,
		},
		{
			`{"domain":"light","service":"turn_on","entity_id":"all"}`,
			`{"domain":"light","id":1,"service":"turn_on","target":{"entity_id":"all"},"type":"call_service"}`, "", "Done.",
		},
		{
			`{"domain":"light","service":"explode"}`, `{"domain":"light","id":1,"service":"explode","type":"call_service"}`,
			`"success":false,"error":{"code":"not_found","message":"Service light.explode not found."}`,
			"error: Home Assistant refused the call: Service light.explode not found.",
		},
		{`{"domain":"../x","service":"turn_on"}`, "", "", "error: the domain and the service are names such as light and turn_on, without a dot"},
		{`{"domain":"light","service":"light.turn_on"}`, "", "", "error: the domain and the service are names such as light and turn_on, without a dot"},
		{`{"domain":"light","service":"turn_on","entity_id":"Kitchen"}`, "", "", `error: "Kitchen" is not an entity id; write one such as light.kitchen`},
		{`{"domain":"light","service":"turn_on","data":{"entity_id":"light.secret"}}`, "", "", "error: entity_id stands beside data, not in it"},
	} {
		h := newHomeServer(t)
		h.will(c.result)
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

// If it is unknown whether a call took effect, the error says so, and the call is not repeated.
func TestServiceErrors(t *testing.T) {
	t.Parallel()
	const turnOn, unknown = `{"domain":"light","service":"turn_on"}`, "is unknown: look with ha_states"
	h := newHomeServer(t)
	want := func(name, text string, known bool) {
		t.Helper()
		_, err := h.call(t, HACallService, turnOn)
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), unknown) == known {
			t.Errorf("%s: error = %v, want %q, known: %t", name, err, text, known)
		}
	}
	for code, known := range map[string]bool{
		"not_found": true, "invalid_format": true, "service_validation_error": true, "unauthorized": true, "home_assistant_error": false, "unknown_error": false,
	} {
		h.will(fmt.Sprintf(`"success":false,"error":{"code":%q,"message":"the %s"}`, code, code))
		want(code, "the "+code, known)
	}
	h.will("cut")
	want("a lost connection", "broke off", false)
	h.will(`"success":true,"result":"` + strings.Repeat("x", 2<<20) + `"`)
	want("a large answer", "broke off", false)
	h.will(`"success":true,"result":7`)
	want("no object", "the call was made", true)
	h.answer("websocket", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	want("a banned address", "nothing was done: Home Assistant refused the connection", true)
	h.answer("websocket", func(w http.ResponseWriter) {
		w.Header().Set("Location", h.URL+"/api/states")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	want("a redirect", "status 307", true)
	h.answer("websocket", nil)
	h.will("hang")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := h.tool(t, HACallService).Call(ctx, agent.Input{Arguments: turnOn}); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a call without an answer: %v", err)
	}
	h.Close()
	want("nobody there", "nothing was done", true)
	h = newHomeServer(t)
	tools, err := New(Options{Enabled: []string{HACallService}, Home: HomeOptions{URL: h.URL, Token: "another"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools[0].Call(t.Context(), agent.Input{Arguments: turnOn}); err == nil || !strings.Contains(err.Error(), "refused the access token") {
		t.Errorf("a wrong token: %v", err)
	}
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

// Whatever data a call sends, the proposal shows all of it exactly as it is sent.
func FuzzProposeService(f *testing.F) {
	f.Add(`{"a":1,"b":"x, c: 2","d":{"e":[]}}`)
	f.Fuzz(func(t *testing.T, data string) {
		var fields map[string]any
		if json.Unmarshal([]byte(data), &fields) != nil || len(fields) == 0 {
			return
		}
		text := flowYAML(fields)
		for key := range fields {
			if homeName.MatchString(key) && !strings.Contains(text, key+": ") {
				t.Errorf("%s does not show %s", text, key)
			}
		}
	})
}
