package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"telex/agent"
	"telex/agent/sse"
)

// consume reads a stream and records the deltas. consume stops at the first error.
func consume(t *testing.T, in *sse.Events) (deltas []string, told int, c *consumer) {
	t.Helper()
	c = &consumer{model: "m"}
	for !c.finished {
		data, err := in.Next()
		if err != nil {
			return deltas, told, c
		}
		before := told
		_, err = c.AddEvent(data, func(d agent.Delta) {
			told++
			if d.Call != nil {
				deltas = append(deltas, fmt.Sprintf("%+v", *d.Call))
			} else if d != (agent.Delta{}) {
				deltas = append(deltas, fmt.Sprintf("%+v", d))
			}
		})
		if err != nil {
			return deltas, told, c
		}
		if told == before {
			t.Errorf("nothing was told of %s", data)
		}
	}
	return deltas, told, c
}

// FuzzConsumer reads a stream at once, then byte by byte, then with events of an unknown type in between. The consumer's result
// must be the same in all three cases.
func FuzzConsumer(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // Our own file.
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		deltas, told, c := consume(t, sse.New(bytes.NewReader(in), nil))
		slow, slowTold, _ := consume(t, sse.New(iotest.OneByteReader(bytes.NewReader(in)), nil))
		if !slices.Equal(deltas, slow) || told != slowTold {
			t.Errorf("at once %q\nbyte by byte %q", deltas, slow)
		}
		done := c.Completion()
		for _, call := range done.ToolCalls {
			if call.ID == "" || call.Name == "" || call.Arguments == "" {
				t.Errorf("call %+v", call)
			}
			for _, before := range readEcho(call.Extra, "m").Before {
				if placeOf(before).Type == "" {
					t.Errorf("the echo of %s is lost", call.Extra)
				}
			}
		}
		noise := []byte("data: {\"type\":\"response.future.delta\",\"delta\":[1]}\n\n")
		clean := strings.ReplaceAll(string(in), "\r", "")
		if strings.Contains(clean, "\n\n") && c.finished {
			noisy := bytes.ReplaceAll([]byte(clean), []byte("\n\n"), append([]byte("\n\n"), noise...))
			quiet, _, _ := consume(t, sse.New(strings.NewReader(clean), nil))
			if got, _, _ := consume(t, sse.New(bytes.NewReader(noisy), nil)); !slices.Equal(got, quiet) {
				t.Errorf("with noise %q\nwithout %q", got, quiet)
			}
		}
	})
}

func TestEchoKeepsReasoningUnchanged(t *testing.T) {
	t.Parallel()
	raw := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"a<b>","later":{"x":[1, 2]}}`
	e := echo{Model: "m", Before: []json.RawMessage{json.RawMessage(raw), place{typeMessage, "commentary"}.raw()}}
	back := readEcho(e.extra(), "m")
	if len(back.Before) != 2 || placeOf(back.Before[1]).Phase != "commentary" || !back.hasText() {
		t.Fatalf("got %+v", back)
	}
	if got := string(back.Before[0]); !strings.Contains(got, `"later":{"x":[1,2]}`) {
		t.Errorf("got %s", got)
	}
	for _, other := range []struct{ extra, model string }{{string(e.extra()), "other"}, {string(e.extra()), ""}, {`{"google":1}`, "m"}, {`5`, "m"}, {"", "m"}} {
		if got := readEcho([]byte(other.extra), other.model); len(got.Before) != 0 {
			t.Errorf("%s for %q: %+v", other.extra, other.model, got)
		}
	}
	if got := (echo{Model: "m", Before: []json.RawMessage{place{Type: typeMessage}.raw()}}).extra(); got != nil {
		t.Errorf("kept %s, which the calls say alone", got)
	}
}
