package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"telex/internal/chat"
)

// everything returns Metrics in which each metric has a value.
func everything() *Metrics {
	m := New("1.2.3")
	m.TurnEnded("done")
	m.Used("main", Tokens{Prompt: 100, Cached: 60, Completion: 20, Reasoning: 5})
	m.Stored("write", 3*time.Millisecond)
	model := m.Model("main")
	model.Began(300 * time.Millisecond)
	for range 7 {
		model.Delta()
	}
	model.Ended(Answered, 2*time.Second)
	model.Ended("rate_limited", time.Second)
	e := m.Endpoint("telegram")
	e.Called(chat.OpSend, 60*time.Millisecond, nil)
	e.Called(chat.OpEdit, 60*time.Millisecond, &chat.SendError{Kind: chat.RateLimited, Err: errors.New("429")})
	e.Called(chat.OpEdit, 60*time.Millisecond, &chat.SendError{Kind: chat.TooLong, Err: errors.New("400")})
	e.Waited(chat.ClassPreview, time.Second)
	e.Shown(time.Second)
	e.Finished(time.Second)
	e.Resumed()
	m.Watch(func() Now {
		return Now{Conversations: 3, Running: 2, Messages: 4, Endpoints: []EndpointNow{{"telegram", true, 5}, {"discord", false, 0}}, Replica: &ReplicaNow{
			LeaseAge: 1500 * time.Millisecond, Holds: true, Alive: 3, Chats: 7, Forwarded: 8, Lost: 2, Receives: map[string]bool{"telegram": true, "discord": false},
		}}
	})
	return m
}

func page(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// The name, the unit and the help text of every metric must follow the rules of promtool.
func TestLint(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(everything().Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, prefix) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	// The lint must find a problem in a metric that breaks the rules.
	bad := "# TYPE telex_turns counter\ntelex_turns 1\n"
	if found, err := promlint.New(strings.NewReader(bad)).Lint(); err != nil || len(found) == 0 {
		t.Errorf("the lint found nothing in %q (%v)", bad, err)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	got := page(t, everything())
	for _, want := range []string{
		`telex_turns_total{reason="done"} 1`,
		`telex_tokens_total{kind="prompt",model="main"} 100`, `telex_tokens_total{kind="cached",model="main"} 60`,
		`telex_tokens_total{kind="completion",model="main"} 20`, `telex_tokens_total{kind="reasoning",model="main"} 5`,
		`telex_model_deltas_total{model="main"} 7`,
		`telex_model_calls_total{model="main",outcome="ok"} 1`, `telex_model_calls_total{model="main",outcome="rate_limited"} 1`,
		`telex_model_first_token_seconds_sum{model="main"} 0.3`, `telex_model_answer_seconds_count{model="main"} 1`,
		`telex_store_seconds_count{kind="write"} 1`,
		`telex_platform_calls_total{endpoint="telegram",op="send",outcome="ok"} 1`,
		`telex_platform_calls_total{endpoint="telegram",op="edit",outcome="rate_limited"} 1`,
		`telex_platform_calls_total{endpoint="telegram",op="edit",outcome="too_long"} 1`,
		`telex_platform_rate_limited_total{endpoint="telegram",op="edit"} 1`, `telex_platform_rate_limited_total{endpoint="telegram",op="send"} 0`,
		`telex_budget_wait_seconds_sum{class="preview",endpoint="telegram"} 1`,
		`telex_visible_staleness_seconds_count{endpoint="telegram"} 1`, `telex_final_seconds_count{endpoint="telegram"} 1`,
		`telex_replies_recovered_total{endpoint="telegram"} 1`,
		`telex_conversations_active 3`, `telex_turns_running 2`, `telex_messages_waiting 4`,
		`telex_endpoint_up{endpoint="telegram"} 1`, `telex_endpoint_up{endpoint="discord"} 0`, `telex_calls_waiting{endpoint="telegram"} 5`,
		`telex_replica_lease_age_seconds 1.5`, `telex_replica_lease_held 1`, `telex_replica_peers 3`, `telex_replica_chats_owned 7`,
		`telex_replica_forwarded_messages_total 8`, `telex_replica_leases_lost_total 2`,
		`telex_replica_receives{endpoint="telegram"} 1`, `telex_replica_receives{endpoint="discord"} 0`,
		`telex_build_info{version="1.2.3"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// The metrics may have only the known labels, which have few possible values. No label may contain a person, a chat or
// a message.
func TestLabels(t *testing.T) {
	t.Parallel()
	families, err := everything().Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	known := []string{labelEndpoint, labelModel, labelReason, labelKind, labelOp, labelOutcome, labelClass, "version"}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if !slices.Contains(known, l.GetName()) {
					t.Errorf("%s has the label %s", f.GetName(), l.GetName())
				}
			}
		}
	}
}

// The example alerts may use only metrics that exist. The test does not check the expressions of the alerts; promtool
// does.
func TestAlerts(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`telex_[a-z_]+`).FindAllString(string(rules), -1)
	if len(names) < 8 {
		t.Fatalf("the alerts name %q", names)
	}
	figures := page(t, everything())
	for _, name := range names {
		if !strings.Contains(figures, "\n"+name+"{") && !strings.Contains(figures, "\n"+name+" ") {
			t.Errorf("an alert asks for %s, which is no metric", name)
		}
	}
}

// Each kind of call must have a name of its own in the label op.
func TestOpNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for op := chat.OpSend; op <= chat.OpAll; op <<= 1 {
		name := opName(op)
		if name == "other" || names[name] {
			t.Errorf("op %d is called %q", op, name)
		}
		names[name] = true
	}
	if len(names) < 11 {
		t.Errorf("%d names: %v", len(names), names)
	}
}

func BenchmarkDelta(b *testing.B) {
	model := New("").Model("main")
	for b.Loop() {
		model.Delta()
	}
}
