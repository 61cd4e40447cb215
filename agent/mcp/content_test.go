package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG")
	for _, tt := range []struct {
		name          string
		res           sdk.CallToolResult
		text          string
		images, files int
		err           string
	}{
		{name: "nothing"},
		{name: "text", res: sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b\xff"}}}, text: "a\n\nb\uFFFD"},
		{
			name: "image", res: sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "look"}, &sdk.ImageContent{MIMEType: "image/png", Data: png}}},
			text: "look\n\n[an image: image/png, 4 bytes]", images: 1,
		},
		{
			name: "image that models do not take", res: sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/svg+xml", Data: png}}},
			text: "[the file image.svg (image/svg+xml, 4 bytes), which is given to the person and not to you]", files: 1,
		},
		{
			name: "audio", res: sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: png}}},
			text: "[the file audio.wav (audio/wav, 4 bytes), which is given to the person and not to you]", files: 1,
		},
		{
			name: "link", res: sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a.txt", Name: "a\ntext"}}},
			text: "[link: a text file:///a.txt]",
		},
		{
			name: "resource with text", res: sdk.CallToolResult{Content: []sdk.Content{
				&sdk.TextContent{Text: "see"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.txt", Text: "the tide"}},
			}},
			text: "see\n\n[resource file:///a.txt:]\n\nthe tide",
		},
		{
			name: "resource with bytes", res: sdk.CallToolResult{Content: []sdk.Content{
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///../../x/re%2Fport", MIMEType: "application/pdf", Blob: png}},
			}},
			text: "[the file port.pdf (application/pdf, 4 bytes), which is given to the person and not to you]", files: 1,
		},
		{
			name: "several images", res: sdk.CallToolResult{Content: slices.Repeat([]sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: png}}, 3)},
			images: 3, text: "[an image: image/png, 4 bytes]\n\n[an image: image/png, 4 bytes]\n\n[an image: image/png, 4 bytes]",
		},
		{
			name: "too many parts", res: sdk.CallToolResult{Content: slices.Repeat([]sdk.Content{&sdk.TextContent{}}, maxContents+2)},
			text: "[2 more parts of the result, left out because there are too many]",
		},
		{name: "structured alone", res: sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}}, text: `{"a":1}`},
		{
			name: "structured and text", res: sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}, Content: []sdk.Content{&sdk.TextContent{Text: "one"}}},
			text: "one",
		},
		{name: "error", res: sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "disk full"}}}, err: "disk full"},
		{name: "error without words", res: sdk.CallToolResult{IsError: true}, err: "the tool failed, and does not say why"},
		{
			name: "long error", res: sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("é", maxError)}}},
			err: strings.Repeat("é", (maxError-3)/2) + "…",
		},
		{
			name: "asks back", res: sdk.CallToolResult{InputRequests: sdk.InputRequestMap{}},
			err: "the tool asks for further input, which is not supported here",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := output(&tt.res)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if out.Text != tt.text || len(out.Images) != tt.images || len(out.Files) != tt.files || said != tt.err {
				t.Errorf("%q, %d images, %d files, %q", out.Text, len(out.Images), len(out.Files), said)
			}
		})
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ uri, mediaType, want string }{
		{"file:///a/b.pdf", "application/pdf", "b.pdf"},
		{"demo://resource/1", "application/gzip", "1.gz"},
		{"", "text/csv", "file.csv"},
		{"file:///a/..", "", "file.bin"},
		{"file:///.ssh", "", "ssh.bin"},
		{"%%%", "", "file.bin"},
		{`file:///a\b:c?.txt`, "", "bc.bin"},
	} {
		if got := fileName(tt.uri, tt.mediaType); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.uri, got, tt.want)
		}
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    sdk.ProgressNotificationParams
		want string
	}{
		{sdk.ProgressNotificationParams{Progress: 1, Total: 3}, "33 %"},
		{sdk.ProgressNotificationParams{Progress: 1, Total: 3, Message: " a\nb"}, "a b (33 %)"},
		{sdk.ProgressNotificationParams{Progress: 7, Message: "a"}, "a"},
		{sdk.ProgressNotificationParams{Progress: 7}, ""},
		{sdk.ProgressNotificationParams{Progress: 7, Total: 3, Message: "a"}, "a"},
	} {
		if got := progressText(&tt.p); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}

// FuzzOutput converts random results of a server.
func FuzzOutput(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"file:///x","blob":"AAAA"}}],"isError":true}`))
	f.Add([]byte(`{"content":[{"type":"resource_link","uri":"a","name":"b"}],"structuredContent":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var res sdk.CallToolResult
		if json.Unmarshal(raw, &res) != nil {
			return
		}
		out, err := output(&res)
		if err == nil && !utf8.ValidString(out.Text) {
			t.Errorf("the text is %q", out.Text)
		}
		for _, file := range out.Files {
			if file.Name == "" || strings.ContainsAny(file.Name, "/\\\n") {
				t.Errorf("a file is called %q", file.Name)
			}
		}
	})
}
