package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However the calls of an answer are cut into fragments, mixed and marked, they come out as they were.
func TestCallBufferHoweverItIsCut(t *testing.T) {
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
		if form == "index" || form == "repeated" { // only an index or an id lets fragments be mixed
			for left := len(fragments); left > 0; {
				i := rapid.IntRange(0, n-1).Draw(t, "next")
				// Calls begin in their order, then go on in any.
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

// cutCall returns the fragments of a call as one kind of provider sends them.
func cutCall(t *rapid.T, c ToolCall, index int, form string) []CallFragment {
	whole := CallFragment{Index: &index, ID: c.ID, Name: c.Name}
	switch form {
	case "one index":
		whole.Index = new(int)
	case "no index", "id only":
		whole.Index = nil
	}
	if form == "one index" || form == "no index" { // whole at once
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
