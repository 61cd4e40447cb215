package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// Limits of the result of one tool call. The agent limits images and files, and maxMessage limits the whole message.
const (
	maxContents = 1000    // parts of a result
	maxError    = 4 << 10 // bytes of a tool's error text
)

// output converts the result of a call. If the tool reports a failure, output returns an error with the tool's text for the
// model.
func output(res *sdk.CallToolResult) (agent.Output, error) {
	if res.InputRequests != nil {
		return agent.Output{}, errors.New("the tool asks for further input, which is not supported here")
	}
	var t contentParts
	for i, content := range res.Content {
		if i == maxContents {
			t.name("%d more parts of the result, left out because there are too many", len(res.Content)-i)
			break
		}
		t.take(content)
	}
	if len(t.texts) == 0 && res.StructuredContent != nil { // servers should also send this content as text, but some don't
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return agent.Output{}, fmt.Errorf("read the tool's result: %w", err)
		}
		t.say(string(raw))
	}
	text := strings.Join(slices.Concat(t.texts, t.notes), "\n\n")
	if res.IsError {
		if text == "" {
			text = "the tool failed, and does not say why"
		}
		return agent.Output{}, errors.New(agent.Clip(text, maxError))
	}
	t.out.Text = text
	return t.out, nil
}

// contentParts collects the parts of the result of a tool call.
type contentParts struct {
	out          agent.Output
	texts, notes []string // texts of the result; notes for the model about other parts
}

func (t *contentParts) say(text string) {
	if text = strings.ToValidUTF8(text, "\uFFFD"); text != "" {
		t.texts = append(t.texts, text)
	}
}

func (t *contentParts) name(format string, args ...any) {
	t.notes = append(t.notes, "["+agent.OneLine(fmt.Sprintf(format, args...))+"]")
}

func (t *contentParts) take(content sdk.Content) {
	switch c := content.(type) {
	case *sdk.TextContent:
		t.say(c.Text)
	case *sdk.ImageContent:
		t.image(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		t.file("audio."+agent.Extension(c.MIMEType), c.MIMEType, c.Data)
	case *sdk.ResourceLink:
		t.name("link: %s %s %s", c.Name, c.URI, c.MIMEType)
	case *sdk.EmbeddedResource:
		t.resource(c.Resource)
	default:
		t.name("something of a kind that can't be shown")
	}
}

func (t *contentParts) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
		t.name("an empty resource")
	case r.Blob == nil:
		t.name("resource %s:", r.URI)
		t.texts = append(t.texts, t.notes[len(t.notes)-1]) // put the note directly above the resource's text
		t.notes = t.notes[:len(t.notes)-1]
		t.say(r.Text)
	case picture(r.MIMEType):
		t.image(r.MIMEType, r.Blob)
	default:
		t.file(fileName(r.URI, r.MIMEType), r.MIMEType, r.Blob)
	}
}

// picture reports whether every model with image input accepts the media type. OpenAI accepts only PNG, JPEG, WEBP and GIF
// (https://platform.openai.com/docs/guides/images-vision).
func picture(mediaType string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, mediaType)
}

func (t *contentParts) image(mediaType string, data []byte) {
	switch {
	case !picture(mediaType):
		t.file("image."+agent.Extension(mediaType), mediaType, data)
	case len(data) == 0:
		t.name("an empty image")
	default:
		t.out.Images = append(t.out.Images, agent.Image{MediaType: mediaType, Data: data})
		t.name("an image: %s, %d bytes", mediaType, len(data))
	}
}

func (t *contentParts) file(name, mediaType string, data []byte) {
	if len(data) == 0 {
		t.name("an empty file: %s", name)
		return
	}
	t.out.Files = append(t.out.Files, agent.File{Name: name, MediaType: mediaType, Content: data})
	t.name("the file %s (%s, %d bytes), which is given to the person and not to you", name, mediaType, len(data))
}

// fileName returns a file name for a URI.
func fileName(uri, mediaType string) string {
	name := ""
	if u, err := url.Parse(uri); err == nil {
		name = agent.FileName(u.Path, "")
	}
	if name = cmp.Or(name, "file"); path.Ext(name) == "" {
		name += "." + agent.Extension(mediaType)
	}
	return name
}
