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

// What is taken of one call. The agent limits images and files; the message that brings them has at most maxMessage bytes.
const (
	maxContents = 1000    // parts of a result
	maxError    = 4 << 10 // bytes of what a tool says about its failure
)

// output returns what a call came to. A tool that says it failed gives an error, with its words for the model.
func output(res *sdk.CallToolResult) (agent.Output, error) {
	if res.InputRequests != nil {
		return agent.Output{}, errors.New("the tool asks something back, and nobody can be asked here")
	}
	var t taken
	for i, content := range res.Content {
		if i == maxContents {
			t.name("%d more parts of the result, left out because there are too many", len(res.Content)-i)
			break
		}
		t.take(content)
	}
	if len(t.said) == 0 && res.StructuredContent != nil { // servers should write it as text, too; not all do
		raw, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return agent.Output{}, fmt.Errorf("read what the tool returned: %w", err)
		}
		t.say(string(raw))
	}
	text := strings.Join(slices.Concat(t.said, t.named), "\n\n")
	if res.IsError {
		if text == "" {
			text = "the tool failed, and does not say why"
		}
		return agent.Output{}, errors.New(agent.Clip(text, maxError))
	}
	t.out.Text = text
	return t.out, nil
}

// taken is what has been taken of a result.
type taken struct {
	out         agent.Output
	said, named []string // texts; what there is besides
}

func (t *taken) say(text string) {
	if text = strings.ToValidUTF8(text, "\uFFFD"); text != "" {
		t.said = append(t.said, text)
	}
}

func (t *taken) name(format string, args ...any) {
	t.named = append(t.named, "["+agent.OneLine(fmt.Sprintf(format, args...))+"]")
}

func (t *taken) take(content sdk.Content) {
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

func (t *taken) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
		t.name("an empty resource")
	case r.Blob == nil:
		t.name("resource %s:", r.URI)
		t.said = append(t.said, t.named[len(t.named)-1]) // right above its text
		t.named = t.named[:len(t.named)-1]
		t.say(r.Text)
	case picture(r.MIMEType):
		t.image(r.MIMEType, r.Blob)
	default:
		t.file(fileName(r.URI, r.MIMEType), r.MIMEType, r.Blob)
	}
}

// picture reports whether every model that takes images takes these
// (https://platform.openai.com/docs/guides/images-vision: PNG, JPEG, WEBP, GIF).
func picture(mediaType string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, mediaType)
}

func (t *taken) image(mediaType string, data []byte) {
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

func (t *taken) file(name, mediaType string, data []byte) {
	if len(data) == 0 {
		t.name("an empty file: %s", name)
		return
	}
	t.out.Files = append(t.out.Files, agent.File{Name: name, MediaType: mediaType, Content: data})
	t.name("the file %s (%s, %d bytes), which is given to the person and not to you", name, mediaType, len(data))
}

// fileName returns a name for what a URI leads to.
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
