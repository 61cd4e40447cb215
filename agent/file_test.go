package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pdfs returns files whose content identifies them.
func pdfs(names string) (out []File) {
	for name := range strings.FieldsSeq(names) {
		out = append(out, File{Name: name, MediaType: "application/pdf", Content: []byte(name + name)})
	}
	return out
}

func readBy(messages []Message) string {
	var out []string
	for _, m := range messages {
		text := m.Text
		for _, f := range m.Files {
			text += "+" + f.Name
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestLimitFiles(t *testing.T) {
	t.Parallel()
	messages := []Message{{Text: "one", Files: pdfs("a b")}, {Text: "two"}, {Files: pdfs("c")}, {Text: "three", Files: pdfs("d")}}
	for bytes, want := range map[int]string{
		8:  "one+a+b, two, +c, three+d",
		7:  "one\n[file a]+b, two, +c, three+d",
		3:  "one\n[file a]\n[file b], two, [file c], three+d",
		-1: "one\n[file a]\n[file b], two, [file c], three\n[file d]",
	} {
		if got := readBy(limitFiles(messages, bytes, fileOmitted)); got != want {
			t.Errorf("%d: got %q, want %q", bytes, got, want)
		}
	}
	if got := readBy(messages); got != "one+a+b, two, +c, three+d" {
		t.Errorf("the messages became %q", got)
	}
}

func TestModelWithoutFiles(t *testing.T) {
	t.Parallel()
	refused := answer{err: &ModelError{Kind: BadRequest, Status: 400, Err: errors.New("file is only supported by certain models")}}
	damaged := answer{err: &ModelError{Kind: BadImage, Status: 400, Err: errors.New("could not read the file")}}
	hello := answer{deltas: texts("Hello.")}
	shown, notShown := "look+a", "look\n"+fmt.Sprintf(fileNotShown, "a")
	for _, tt := range []struct {
		name    string
		answers []answer
		turns   int
		asked   []string
	}{
		{"remembered", []answer{refused, hello, hello}, 2, []string{shown, notShown, notShown}},
		{"it read some before", []answer{hello, refused, hello, hello}, 3, []string{shown, shown, notShown, shown}},
		{"only this one", []answer{damaged, hello, hello}, 2, []string{shown, notShown, shown}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := &script{answers: tt.answers}
			a := newAgent(t, ModelOptions{Model: model})
			for range tt.turns {
				if r, err := a.Run(t.Context(), Turn{Stream: true, Messages: []Message{{Role: User, Text: "look", Files: pdfs("a")}}}, func(Event) {}); err != nil {
					t.Errorf("got %+v, %v", r, err)
				}
			}
			var asked []string
			for _, r := range model.requests {
				asked = append(asked, readBy(r.Messages))
			}
			if fmt.Sprintf("%q", asked) != fmt.Sprintf("%q", tt.asked) {
				t.Errorf("asked with %q, want %q", asked, tt.asked)
			}
		})
	}
}

func TestFilesCostTokens(t *testing.T) {
	t.Parallel()
	with, without := Message{Text: "look", Files: []File{{Content: make([]byte, 200_000)}}}, Message{Text: "look"}
	if got := with.tokens() - without.tokens(); got != 3000 {
		t.Errorf("got %d, want 3000", got)
	}
}
