package agent

import (
	"cmp"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"
)

// What of a call's output is taken.
const (
	maxOutput     = 64 << 10 // bytes of text
	maxError      = 4 << 10  // bytes of an error's text
	maxCallImages = 8        // that the model is shown
	maxImage      = 5 << 20  // bytes of one that the model is shown: more is refused by some providers
	maxCallBytes  = 32 << 20 // of images and files together
)

// What of a turn's output people get.
const (
	MaxFiles     = 10       // files, images among them
	MaxFileBytes = 20 << 20 // bytes of them together
)

// allowance is how much people may still get of a turn's output.
type allowance struct{ files, bytes int }

func (a *allowance) take(size int) bool {
	if a.files == 0 || size > a.bytes {
		return false
	}
	a.files, a.bytes = a.files-1, a.bytes-size
	return true
}

// give returns what people get of an output: its images and its files. What is beyond the allowance is left
// out, and text tells the model so, which is shown the images all the same.
func (a *allowance) give(call string, o Output) (images, files []File, text string) {
	text = o.Text
	for i, f := range o.files(call) {
		switch {
		case !a.take(len(f.Content)):
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

// limitOutput makes a call's output fit: long text is cut and binary data refused, and the model is told the
// size of what it does not get.
func limitOutput(o Output) Output {
	out := Output{Text: limitText(o.Text)}
	size := 0
	leave := func(what, mediaType string, n int) {
		out.Text += fmt.Sprintf("\n[%s (%s, %d bytes) was left out: it is too large, or of the wrong kind]", what, mediaType, n)
	}
	for _, image := range o.Images {
		kind, _, err := mime.ParseMediaType(image.MediaType)
		if size+len(image.Data) > maxCallBytes || len(image.Data) == 0 || err != nil || !strings.HasPrefix(kind, "image/") {
			leave("an image", OneLine(image.MediaType), len(image.Data))
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
			leave("the file "+f.Name, OneLine(f.MediaType), len(f.Content))
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
	if len(text) > maxOutput { // it may be huge: the rest is not even looked at
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

// isBinary reports whether content is not text. A character that was cut in two, or one in an old encoding, does not
// make it so.
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

// files returns what people get of an output: its images, then its files.
func (o Output) files(call string) []File {
	var out []File
	for i, image := range o.Images {
		out = append(out, File{Name: imageName(call, i, len(o.Images), image.MediaType), MediaType: image.MediaType, Content: image.Data})
	}
	return append(out, o.Files...)
}

// FileName returns a name as it can stand in a message and in a folder: no path, nothing invisible or reserved, and its
// extension where it is too long. Without a name it returns another one.
func FileName(name, otherwise string) string {
	const most, maxExtension = 100, 16
	name = OneLine(strings.Map(func(c rune) rune {
		if strings.ContainsRune(":*?<>|", c) {
			return -1
		}
		return c
	}, name[strings.LastIndexAny(name, `/\`)+1:]))
	name = strings.TrimLeft(name, ".")
	if len(name) > most {
		extension := ""
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 && len(name)-dot <= maxExtension {
			extension = name[dot:]
		}
		whole, _ := cutIncomplete(name[:most-len(extension)])
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

// Extension returns the end of a file's name, without the dot: the same everywhere, whatever types the machine knows.
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
	const usual = 4 // letters of png, pdf, json and their like
	if kind == "" || len(kind) > usual || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return "bin"
	}
	return kind
}
