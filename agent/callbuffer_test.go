package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The test splits and mixes calls into fragments as different servers send them, with or without indices and ids. CallBuffer
// must return the calls complete and unchanged.
func TestCallBufferJoinsFragments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "calls")
		form := rapid.SampledFrom([]string{"index", "repeated", "empty ids", "one index", "no index", "id only"}).Draw(t, "form")
		var want []ToolCall
		var fragments [][]CallFragment
		for i := range n {
			c := ToolCall{
				ID: fmt.Sprintf("call-%d", i), Name: rapid.SampledFrom([]string{"time", "fetch"}).Draw(t, "name"),
				Arguments: fmt.Sprintf(`{"q":%q}`, rapid.StringN(0, 20, -1).Draw(t, "q")),
			}
			want = append(want, c)
			fragments = append(fragments, cutCall(t, c, i, form))
		}
		var b CallBuffer
		last := make(map[int]CallDelta)
		add := func(f CallFragment) {
			d := b.Add(f)
			if before := last[d.Position]; !strings.HasPrefix(d.Arguments, before.Arguments) || before.ID != "" && d.ID != before.ID {
				t.Fatalf("call %d went from %+v to %+v", d.Position, before, d)
			}
			last[d.Position] = d
		}
		if form == "index" || form == "repeated" { // fragments of calls can be mixed only if they have an index or an id
			for left := len(fragments); left > 0; {
				i := rapid.IntRange(0, n-1).Draw(t, "next")
				// The first fragments of the calls come in the order of the calls. All other fragments may come in any order.
				for j := range i {
					if len(fragments[j]) > 0 && fragments[j][0].Name != "" && last[j].Name == "" {
						i = j
						break
					}
				}
				if len(fragments[i]) == 0 {
					continue
				}
				add(fragments[i][0])
				if fragments[i] = fragments[i][1:]; len(fragments[i]) == 0 {
					left--
				}
			}
		} else {
			for _, call := range fragments {
				for _, f := range call {
					add(f)
				}
			}
		}
		if got := fmt.Sprint(b.Calls()); got != fmt.Sprint(want) {
			t.Fatalf("%s: got %s, want %v", form, got, want)
		}
		for i, c := range want {
			if d := last[i]; d.ID != c.ID || d.Name != c.Name || d.Arguments != c.Arguments {
				t.Fatalf("told last %+v of %+v", d, c)
			}
		}
	})
}

// cutCall splits a call into fragments as one kind of server sends them; form is the kind.
func cutCall(t *rapid.T, c ToolCall, index int, form string) []CallFragment {
	whole := CallFragment{Index: &index, ID: c.ID, Name: c.Name}
	switch form {
	case "one index":
		whole.Index = new(int)
	case "no index", "id only":
		whole.Index = nil
	}
	if form == "one index" || form == "no index" { // each call is complete in one fragment
		whole.Arguments = c.Arguments
		return []CallFragment{whole}
	}
	out := []CallFragment{whole}
	for rest := c.Arguments; rest != ""; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
		f := CallFragment{Index: whole.Index, Arguments: rest[:n]}
		switch form {
		case "repeated":
			f.ID, f.Name = c.ID, c.Name
		case "id only":
			f.ID = c.ID
		}
		out, rest = append(out, f), rest[n:]
	}
	return out
}

func TestCallBufferMakesIDsUnique(t *testing.T) {
	t.Parallel()
	var b CallBuffer
	zero, one := 0, 1
	b.Add(CallFragment{Index: &zero, ID: "same", Name: "time"})
	if d := b.Add(CallFragment{Index: &one, ID: "same", Name: "time"}); d.ID != "" {
		t.Errorf("told the id %q for a second call", d.ID)
	}
	b.Add(CallFragment{Name: "fetch", Arguments: "{}", ID: "call_2", Extra: json.RawMessage(`{"a":1}`)})
	calls := b.Calls()
	if got := fmt.Sprint(calls[0].ID, " ", calls[1].ID, " ", calls[2].ID); got != "same call_2x call_2" {
		t.Errorf("ids %s", got)
	}
	if string(calls[2].Extra) != `{"a":1}` {
		t.Errorf("extra %s", calls[2].Extra)
	}
}

// Each case is a sequence of fragments that some server really sends. A fragment is written as "INDEX ID NAME ARGUMENTS"; "-"
// means that the field is missing.
func TestCallBufferWithFormatsOfServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		fragments []string
		want      string
	}{
		{"index gaps", []string{"3 a time {}", "7 b fetch {}"}, "a time {}, b fetch {}"},
		{"indices backwards", []string{"1 b fetch {", "0 a time {", "1 - - }", "0 - - }"}, "b fetch {}, a time {}"},
		// https://github.com/continuedev/continue/pull/5849, https://github.com/openclaw/openclaw/pull/130532
		{"a name in pieces", []string{"0 a edit_ex -", "0 - isting -", "0 a _file -", "0 - - {}"}, "a edit_existing_file {}"},
		// https://github.com/NousResearch/hermes-agent/issues/8259
		{"a name in each", []string{"0 a time -", "0 a time {", "0 - time }", "0 - time -"}, "a time {}"},
		{"a name that grows", []string{"0 a ti -", "0 a time -", "0 a time {}"}, "a time {}"},
		{"another name behind the arguments", []string{"0 a time {", "0 - fetch }"}, "a time {}"},
		{"a late name", []string{"0 a - -", "0 - time {}"}, "a time {}"},
		// https://github.com/NousResearch/hermes-agent/pull/106943
		{"an id for each fragment", []string{"0 a time -", "0 b - {", "0 c - }"}, "a time {}"},
		{"an id for each fragment, no index", []string{"- a time -", "- b - {", "- c - }", "- d fetch -", "- e - {}"}, "a time {}, d fetch {}"},
		// https://github.com/ollama/ollama/issues/15457
		{"one index", []string{"0 a time {}", "0 b time {}", "0 c fetch {}"}, "a time {}, b time {}, c fetch {}"},
		{"one index, no ids", []string{"0 - time {}", "0 - time {}"}, "call_1 time {}, call_2 time {}"},
		{"no index, no ids, no arguments", []string{"- - time -", "- - fetch -"}, "call_1 time , call_2 fetch "},
		// https://github.com/InternLM/lmdeploy/issues/3412
		{"one index, the id in each", []string{"0 0 time -", "0 0 - {}", "0 1 time -", "0 1 - {}"}, "0 time {}, 1 time {}"},
		{"nothing but a piece", []string{"0 a - {}"}, ""},
		{"no name, then a call", []string{"0 a - {}", "0 b time {}"}, "b time {}"},
	} {
		var b CallBuffer
		for _, text := range tt.fragments {
			part := strings.Fields(strings.ReplaceAll(text, "-", `""`))
			for i := range part {
				part[i] = strings.Trim(part[i], `"`)
			}
			f := CallFragment{ID: part[1], Name: part[2], Arguments: part[3]}
			if part[0] != "" {
				f.Index = new(int)
				if _, err := fmt.Sscan(part[0], f.Index); err != nil {
					t.Fatal(err)
				}
			}
			b.Add(f)
		}
		var got []string
		for _, c := range b.Calls() {
			got = append(got, c.ID+" "+c.Name+" "+c.Arguments)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, strings.Join(got, ", "), tt.want)
		}
	}
}

// Random fragments must not crash the buffer, and never result in two calls with the same id.
func TestCallBufferWithRandomFragments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b CallBuffer
		for range rapid.IntRange(0, 20).Draw(t, "fragments") {
			f := CallFragment{
				ID: rapid.SampledFrom([]string{"", "a", "b", "call_1"}).Draw(t, "id"), Name: rapid.SampledFrom([]string{"", "x", "xy"}).Draw(t, "name"),
				Arguments: rapid.SampledFrom([]string{"", "{", "}", "{}", `"`}).Draw(t, "arguments"),
			}
			if i := rapid.IntRange(-1, 2).Draw(t, "index"); i >= 0 {
				f.Index = &i
			}
			b.Add(f)
		}
		ids := map[string]bool{}
		for _, c := range b.Calls() {
			if ids[c.ID] || c.ID == "" || c.Name == "" {
				t.Fatalf("call %+v", c)
			}
			ids[c.ID] = true
		}
	})
}
