package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// The program must be able to read stored endings of every version, and must write new endings in the newest version.
func TestStoredEndings(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	answer := preview.Ending{
		Text: "The **whole** answer", Cut: true, Note: "Something went wrong.", At: at.Add(123456789),
		Files: []chat.File{{Name: "a.png", MediaType: "image/png", Content: []byte{1, 2}}},
	}
	kept := preview.Ending{Keep: true, Stopped: true, Stand: true, At: at}
	want := map[string]preview.Ending{
		"v0-answer": answer, "v0-kept": kept, "v0-oldest": {Text: "The answer"},
		"v1-answer": answer, "v1-kept": kept,
	}
	for field, value := range reflect.ValueOf(answer).Fields() {
		if value.IsZero() && reflect.ValueOf(kept).FieldByIndex(field.Index).IsZero() {
			t.Errorf("preview.Ending.%s is set nowhere, so it is not tested", field.Name)
		}
	}
	files, err := filepath.Glob("testdata/ending/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, want %d: %v", len(files), len(want), err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		got, err := decodeEnding(b)
		if err != nil || !reflect.DeepEqual(got, want[name]) {
			t.Errorf("%s: read %+v, %v; want %+v", name, got, err, want[name])
		}
		if written := string(encodeEnding(got)); strings.HasPrefix(name, fmt.Sprintf("v%d-", endingVersion)) && written != strings.TrimSpace(string(b)) {
			t.Errorf("%s: is written as\n%s\nA change of what is stored needs a new version", name, written)
		}
	}
	for _, broken := range []string{"", "{", `{"version":2,"text":"x"}`} {
		if e, err := decodeEnding([]byte(broken)); err == nil {
			t.Errorf("%q was read as %+v", broken, e)
		}
	}
}
