package agent

import (
	"cmp"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"
)

// Limits of the output of one tool call.
const (
	maxOutput     = 64 << 10 // bytes of text
	maxError      = 4 << 10  // bytes of an error's text
	maxCallImages = 8        // images that the model sees
	maxImage      = 5 << 20  // bytes of one image that the model sees; some providers refuse larger images
	maxCallBytes  = 32 << 20 // bytes of images and files together
)

// Limits of a turn's output for people.
const (
	MaxFiles     = 10       // files, including images
	MaxFileBytes = 20 << 20 // bytes of all files together
)

// allowance is the number of files and bytes that a turn may still send to people.
type allowance struct{ files, bytes int }

func (a *allowance) reserve(size int) bool {
	if a.files == 0 || size > a.bytes {
		return false
	}
	a.files, a.bytes = a.files-1, a.bytes-size
	return true
}

// grant returns those images and files of a tool's output that are sent to people. grant leaves out images and files that
// exceed the allowance. text is the output's text with a note to the model about each omitted file. grant does not affect the
// model, which still sees all images.
func (a *allowance) grant(call string, o Output) (images, files []File, text string) {
	text = o.Text
	for i, f := range o.files(call) {
		switch {
		case !a.reserve(len(f.Content)):
			text += fmt.Sprintf("\n[%s (%d bytes) was not handed out: people get at most %d files for one answer, of %d MB together]",
				f.Name, len(f.Content), MaxFiles, MaxFileBytes>>20)
		case i < len(o.Images):
			images = append(images, f)
		default:
			files = append(files, f)
		}
	}
	return images, files, text
}

// limitOutput cuts long text, replaces binary data, and leaves out images and files that are too large. Notes in the text
// tell the model the size of each omitted part.
func limitOutput(o Output) Output {
	out := Output{Text: limitText(o.Text)}
	size := 0
	noteLeftOut := func(what, mediaType string, n int) {
		out.Text += fmt.Sprintf("\n[%s (%s, %d bytes) was left out: it is too large, or of the wrong kind]", what, mediaType, n)
	}
	for _, image := range o.Images {
		kind, _, err := mime.ParseMediaType(image.MediaType)
		if size+len(image.Data) > maxCallBytes || len(image.Data) == 0 || err != nil || !strings.HasPrefix(kind, "image/") {
			noteLeftOut("an image", OneLine(image.MediaType), len(image.Data))
			continue
		}
		size += len(image.Data)
		if len(image.Data) > maxImage || len(out.Images) == maxCallImages {
			out.Text += fmt.Sprintf("\n[an image (%s, %d bytes) goes to the person as a file and is not shown to you: it is too large, or one too many]", kind, len(image.Data))
			out.Files = append(out.Files, File{Name: "image." + Extension(kind), MediaType: kind, Content: image.Data})
			continue
		}
		out.Images = append(out.Images, Image{MediaType: kind, Data: image.Data})
	}
	for _, f := range o.Files {
		f.Name = FileName(f.Name, "file")
		if size+len(f.Content) > maxCallBytes {
			noteLeftOut("the file "+f.Name, OneLine(f.MediaType), len(f.Content))
			continue
		}
		size += len(f.Content)
		out.Files = append(out.Files, f)
	}
	if out.Text = strings.TrimPrefix(out.Text, "\n"); out.Text == "" {
		out.Text = "(no output)"
	}
	return out
}

func limitText(text string) string {
	whole := text
	if len(text) > maxOutput { // the text may be huge, so isBinary checks only its beginning
		whole, _ = cutIncomplete(text[:maxOutput])
	}
	switch {
	case isBinary(whole):
		return fmt.Sprintf("[binary data of %d bytes, which can't be shown]", len(text))
	case len(whole) == len(text):
		return validUTF8(text)
	}
	return fmt.Sprintf("%s\n[… cut here: the output has %d bytes, these were the first %d …]", validUTF8(whole), len(text), len(whole))
}

// isBinary reports whether content is not text. A text may contain a few invalid bytes, such as a character that was
// cut in two, or a character in a legacy encoding.
func isBinary(text string) bool {
	const share = 32
	wrong := 0
	for i, c := range text {
		if c == 0 {
			return true
		}
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			wrong++
		}
	}
	return wrong > 3 && wrong > len(text)/share
}

// files returns the images and files of an output, all of them as files.
func (o Output) files(call string) []File {
	var out []File
	for i, image := range o.Images {
		out = append(out, File{Name: imageName(call, i, len(o.Images), image.MediaType), MediaType: image.MediaType, Content: image.Data})
	}
	return append(out, o.Files...)
}

// FileName returns a file's name that is safe in a message and in a folder. FileName removes the path and invisible or reserved
// characters. A name that is too long keeps its extension. If no character of the name is left, FileName returns its second
// argument instead.
func FileName(name, otherwise string) string {
	const maxName, maxExtension = 100, 16
	name = OneLine(strings.Map(func(c rune) rune {
		if strings.ContainsRune(":*?<>|", c) {
			return -1
		}
		return c
	}, name[strings.LastIndexAny(name, `/\`)+1:]))
	name = strings.TrimLeft(name, ".")
	if len(name) > maxName {
		extension := ""
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 && len(name)-dot <= maxExtension {
			extension = name[dot:]
		}
		whole, _ := cutIncomplete(name[:maxName-len(extension)])
		name = whole + extension
	}
	return cmp.Or(name, otherwise)
}

func imageName(call string, i, n int, mediaType string) string {
	if n > 1 {
		return fmt.Sprintf("%s-%d.%s", call, i+1, Extension(mediaType))
	}
	return call + "." + Extension(mediaType)
}

// Extension returns the extension for a media type, without the dot. Extension does not depend on the configuration of the
// machine, unlike the package mime.
func Extension(mediaType string) string {
	kind, _, _ := mime.ParseMediaType(mediaType)
	_, kind, _ = strings.Cut(kind, "/")
	switch kind {
	case "jpeg":
		return "jpg"
	case "svg+xml":
		return "svg"
	case "x-wav":
		return "wav"
	case "mpeg":
		return "mp3"
	case "gzip":
		return "gz"
	case "plain":
		return "txt"
	}
	const maxExtension = 4 // such as json
	if kind == "" || len(kind) > maxExtension || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return "bin"
	}
	return kind
}
