package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
)

// maxDocuments is the maximum size in bytes of all files in one request together, after decoding.
// https://platform.openai.com/docs/guides/pdf-files#file-size-limitations
const maxDocuments = 50 << 20

// Document describes a file in a request.
type Document struct {
	Name  string `json:"name"`
	Type  string `json:"type"`  // the media type
	Bytes int    `json:"bytes"` // size of the file, not of its base64 encoding
}

func (d Document) String() string { return fmt.Sprintf("%s, %s, %d bytes", d.Name, d.Type, d.Bytes) }

// readDocument parses the name and the data of a file. param is the path of the file in the request.
// https://platform.openai.com/docs/guides/pdf-files#base64-encoded-files
func readDocument(raw json.RawMessage, param string) Document {
	var part struct {
		Name *string `json:"filename"`
		Data *string `json:"file_data"`
		ID   *string `json:"file_id"`
	}
	decode(raw, &part, param, "an object with a filename and file_data")
	invalidIf(part.ID != nil, param+".file_id", "invalid_value", "This stand-in keeps no files: send file_data.")
	required(part.Data != nil, param, "file_data")
	required(part.Name != nil && *part.Name != "", param, "filename")
	const expected = "Invalid '%s.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type " +
		"(e.g. 'data:application/pdf;base64,aW1nIGJ5dGVzIGhlcmU='), but got %s."
	header, payload, ok := strings.Cut(strings.TrimPrefix(*part.Data, "data:"), ",")
	kind, encoded := strings.CutSuffix(header, ";base64")
	media, _, err := mime.ParseMediaType(kind)
	invalidIf(err != nil || !ok || !encoded || !strings.HasPrefix(*part.Data, "data:"), param+".file_data", "invalid_value",
		expected, param, "a value without the 'data:' prefix")
	invalidIf(media != "application/pdf", param+".file_data", "invalid_value", expected, param, "unsupported MIME type '"+media+"'")
	data, err := base64.StdEncoding.DecodeString(payload)
	invalidIf(err != nil || len(data) == 0, param+".file_data", "invalid_value", expected, param, "invalid base64")
	invalidIf(len(data) > maxDocuments, "", "file_too_large", "The file is too large: files of a request may have 50 MB.")
	return Document{Name: *part.Name, Type: media, Bytes: len(data)}
}

// tokens returns roughly how many tokens a document costs. tokens assumes that each 100 KB contain one page. A page
// costs the tokens of its text, and the tokens of a picture of the page.
func (d Document) tokens() int { return 1000 * (1 + d.Bytes/100_000) }

// documents returns all files in a request, in order.
func (r *chatRequest) documents() []Document {
	var list []Document
	for _, m := range r.Messages {
		list = append(list, m.documents...)
	}
	return list
}

// refuseFiles refuses a request that contains files, as a provider does for a model that can't read files.
func (r *chatRequest) refuseFiles() {
	for i, m := range r.Messages {
		invalidIf(len(m.documents) > 0, fmt.Sprintf("messages.[%d].content", i), "",
			"Invalid content type. file is only supported by certain models.")
	}
}

// listDocuments returns the answer to the question "files:".
func listDocuments(documents []Document) string {
	if len(documents) == 0 {
		return "There is no file in this message."
	}
	lines := make([]string, len(documents))
	for i, d := range documents {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}
