package attachment

import (
	"testing"

	"telex/internal/chat"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	const mp4, m4a = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42"
	const opus, theora = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00OpusHead\x01", "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x80theora\x01vorbis"
	for _, c := range []struct {
		name, mediaType, head string
		want                  Kind
	}{
		// KindOf determines the kind from the content, even if the sender's media type says something else.
		{"a.txt", "text/plain", string(asPNG(t, halves(4, 4, red))), Image},
		{"a.mp3", "audio/mpeg", string(asJPEG(t, halves(4, 4, red))), Image},
		{"", "", string(asGIF(t, 4, 4, 1)), Image},
		{"", "", string(asWebP(4, 4, red)), Image},
		{"a.png", "image/png", "hello", Text},
		{"a.ogg", "audio/ogg", "hello", Text},
		{"", "", "größe", Text},
		{"", "", "Gr\xf6\xdfe", Text},
		{"", "", "\xff\xfea\x00", Text},
		{"a.svg", "image/svg+xml", "<?xml version=\"1.0\"?><svg/>", Text},
		{"a.html", "", "<!DOCTYPE html><p>hi", HTML},
		{"a.txt", "text/plain", "%PDF-1.7\n", Document},
		{"a.txt", "text/plain", "PK\x03\x04\x14\x00", Document},
		{"a.txt", "text/plain", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00", Other},
		{"a.png", "image/png", "BM\x00\x00", Other},
		{"", "", "ID3\x04\x00\x00", Audio},
		{"", "", "\xff\xfb\x90\x64\x00\x00\x00\x00\x00\x00\x00\x00", Audio},
		{"", "", "\xff\xf1\x50\x80\x00\x00\x00\x00\x00\x00\x00\x00", Audio},
		{"", "", "RIFF\x24\x00\x00\x00WAVEfmt ", Audio},
		{"", "", "fLaC\x00\x00\x00\x22\x10\x00\x10\x00", Audio},
		{"", "", "#!AMR\n\x00\x00\x00\x00\x00\x00", Audio},
		{"", "", opus, Audio},
		{"", "", m4a, Audio},
		{"voice.m4a", "", mp4, Audio},
		{"voice", "audio/mp4", mp4, Audio},
		{"a.mp4", "video/mp4", mp4, Other},
		{"a.ogv", "video/ogg", theora, Other},
		{"a.mp3", "audio/mpeg", "\x00\x01\x02\x03", Other},
		// Before the download, KindOf determines the kind from the sender's media type.
		{"photo.jpg", "image/jpeg", "", Image},
		{"a.WEBP", "", "", Image},
		{"a.svg", "image/svg+xml", "", Text},
		{"a.heic", "image/heic", "", Other},
		{"notes.md", "application/octet-stream", "", Text},
		{"a", "text/x-python; charset=utf-8", "", Text},
		{"a", "application/ld+json", "", Text},
		{"voice.ogg", "audio/ogg", "", Audio},
		{"a.oga", "malformed/", "", Audio},
		{"a", "application/ogg", "", Audio},
		{"a.pdf", "application/pdf", "", Document},
		{"a.mp4", "video/mp4", "", Other},
		{"poll", "", "", Other},
		{"", "", "", Other},
	} {
		if got := KindOf(chat.Attachment{Name: c.name, MediaType: c.mediaType}, []byte(c.head)); got != c.want {
			t.Errorf("KindOf(%q, %q, %.20q) = %v, want %v", c.name, c.mediaType, c.head, got, c.want)
		}
	}
}

func FuzzKindOf(f *testing.F) {
	f.Add("a.txt", "text/plain", []byte("hello"))
	f.Add("a.mp3", "audio/", []byte("\xff\xfb\x90\x64\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, name, mediaType string, head []byte) {
		got := KindOf(chat.Attachment{Name: name, MediaType: mediaType}, head)
		if again := KindOf(chat.Attachment{Name: name, MediaType: mediaType}, head); got > Document || got != again {
			t.Fatalf("the kind is %d, then %d", got, again)
		}
		if plain := KindOf(chat.Attachment{}, head); len(head) > 0 && plain == Image && got != Image {
			t.Fatalf("what the sender says makes a picture %v", got)
		}
	})
}
