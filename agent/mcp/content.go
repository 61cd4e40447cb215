package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// What is taken of one call besides text.
const (
	maxContents = 1000 // parts of a result
	maxImages   = 10
	maxFiles    = 10
	maxBytes    = 12 << 20 // of all images and files; the message that brings them has at most maxMessage
	maxError    = 4 << 10  // bytes of what a tool says about its failure
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
	bytes       int
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
		t.file("audio"+extension(c.MIMEType), c.MIMEType, c.Data)
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
		t.file("image"+extension(mediaType), mediaType, data)
	case len(data) == 0:
		t.name("an empty image")
	case len(t.out.Images) == maxImages || t.bytes+len(data) > maxBytes:
		t.name("an image of %d bytes, left out because there are too many or they are too large", len(data))
	default:
		t.bytes += len(data)
		t.out.Images = append(t.out.Images, agent.Image{MediaType: mediaType, Data: data})
		t.name("an image: %s, %d bytes", mediaType, len(data))
	}
}

func (t *taken) file(name, mediaType string, data []byte) {
	switch {
	case len(data) == 0:
		t.name("an empty file: %s", name)
	case len(t.out.Files) == maxFiles || t.bytes+len(data) > maxBytes:
		t.name("the file %s of %d bytes, left out because there are too many or they are too large", name, len(data))
	default:
		t.bytes += len(data)
		t.out.Files = append(t.out.Files, agent.File{Name: name, MediaType: mediaType, Content: data})
		t.name("the file %s (%s, %d bytes), which is given to the person and not to you", name, mediaType, len(data))
	}
}

// extension returns the usual end of a file's name; the same one everywhere, whatever types the machine knows.
func extension(mediaType string) string {
	mediaType, _, _ = mime.ParseMediaType(mediaType)
	switch mediaType {
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/ogg":
		return ".ogg"
	case "image/svg+xml":
		return ".svg"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "application/zip":
		return ".zip"
	case "application/gzip":
		return ".gz"
	case "text/csv":
		return ".csv"
	case "text/html":
		return ".html"
	case "text/plain":
		return ".txt"
	}
	return ".bin"
}

// fileName returns a name for what a URI leads to.
func fileName(uri, mediaType string) string {
	name := ""
	if u, err := url.Parse(uri); err == nil {
		name = path.Base(strings.ReplaceAll(u.Path, `\`, "/"))
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || strings.ContainsRune(`/\:*?"<>|`, r) {
			return -1
		}
		return r
	}, agent.OneLine(name))
	name = strings.TrimLeft(agent.Clip(name, 100), ".")
	if name == "" {
		name = "file"
	}
	if path.Ext(name) == "" {
		name += extension(mediaType)
	}
	return name
}
