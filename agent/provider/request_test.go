package provider

import (
	"encoding/json"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`"{\"a\":1}"`: `{"a":1}`, `{"a":1}`: `{"a":1}`, `null`: "", `""`: "", `[1]`: "[1]"} {
		a := Arguments("before")
		if err := json.Unmarshal([]byte(in), &a); err != nil || string(a) != want {
			t.Errorf("%s: got %q, %v", in, a, err)
		}
	}
}
