package openai_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"telex/standin/openai"
)

// TestDocuments checks that both APIs accept PDF files as data URLs, list these files in answers and records, and
// refuse other files.
func TestDocuments(t *testing.T) {
	t.Parallel()
	pdf := "data:application/pdf;base64," + base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 hello"))
	apis := map[string]func(text, name, data string) (path, body string){
		"chat": func(text, name, data string) (string, string) {
			return "/v1/chat/completions", `{"model":"standin","messages":[{"role":"user","content":[{"type":"text","text":"` + text + `"},{"type":"file","file":{"filename":"` + name + `","file_data":"` + data + `"}}]}]}`
		},
		"responses": func(text, name, data string) (string, string) {
			return "/v1/responses", `{"model":"standin","store":false,"input":[{"role":"user","content":[{"type":"input_text","text":"` + text + `"},{"type":"input_file","filename":"` + name + `","file_data":"` + data + `"}]}]}`
		},
	}
	for api, request := range apis {
		for _, tt := range []struct {
			name, text, file, data string
			status                 int
			want                   string
		}{
			{"listed", "files:", "a.pdf", pdf, 200, "a.pdf, application/pdf, 14 bytes"},
			{"refused", "{{standin refuse=file}} files:", "a.pdf", pdf, 400, "only supported by certain models"},
			{"no name", "files:", "", pdf, 400, "filename"},
			{"no base64", "files:", "a.pdf", "data:application/pdf;base64,****", 400, "invalid base64"},
			{"empty", "files:", "a.pdf", "data:application/pdf;base64,", 400, "invalid base64"},
			{"no data URL", "files:", "a.pdf", "JVBERi0=", 400, "Expected a base64-encoded data URL"},
			{"another type", "files:", "a.txt", "data:text/plain;base64,aGVsbG8=", 400, "unsupported MIME type 'text/plain'"},
		} {
			t.Run(api+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				p := start(t, openai.Options{})
				path, body := request(tt.text, tt.file, tt.data)
				r := p.post(path, body)
				if r.status != tt.status || !strings.Contains(r.body, tt.want) {
					t.Errorf("got %d %s, want %d and %q", r.status, r.body, tt.status, tt.want)
				}
				if last := p.last(); tt.name == "listed" && (len(last.Documents) != 1 || last.Documents[0].Name != "a.pdf") {
					t.Errorf("the record has %+v", last.Documents)
				}
			})
		}
	}
}
