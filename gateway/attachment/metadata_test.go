package attachment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"io"
	"testing"
)

// bareJPEG must keep the image data of a progressive JPEG byte for byte, including restart markers and stuffed bytes.
func TestBareJPEGKeepsEveryPass(t *testing.T) {
	t.Parallel()
	first := append(segment(0xda, "\x03 the first pass"), "data \xff\x00 \xff\xd0 \xff\xd7 data"...)
	second := append(segment(0xda, "\x01 the second"), "more \xff\xff\x00"...)
	table := segment(0xc4, "a table between")
	end := []byte{0xff, 0xff, 0xd9} // the end marker, after a fill byte
	file := bytes.Join([][]byte{{0xff, 0xd8}, segment(0xc2, "a frame"), first, table, segment(0xfe, secret), second, end}, nil)
	want := bytes.Join([][]byte{{0xff, 0xd8}, segment(0xc2, "a frame"), first, table, second, end}, nil)
	got, exif, err := bareJPEG(file)
	if err != nil || exif != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q with %d bytes of EXIF, %v, want %q", got, len(exif), err, want)
	}
	if !progressive(file) || progressive(asJPEG(t, halves(4, 4, red))) {
		t.Error("a file of several passes is not told from one of one")
	}
}

// If the segments of a file are inconsistent, the functions that remove metadata must return errDamaged and no file.
func TestBareDamaged(t *testing.T) {
	t.Parallel()
	photo, drawing, lossless := asJPEG(t, halves(40, 30, blue)), asPNG(t, halves(40, 30, blue)), asWebP(40, 30, blue)
	long := bytes.Clone(lossless)
	binary.LittleEndian.PutUint32(long[4:], uint32(len(long)))
	for name, c := range map[string]struct {
		bare func([]byte) ([]byte, []byte, error)
		data []byte
	}{
		"JPEG: nothing":               {bareJPEG, nil},
		"JPEG: another file":          {bareJPEG, drawing},
		"JPEG: no end":                {bareJPEG, photo[:len(photo)-2]},
		"JPEG: half a segment":        {bareJPEG, photo[:12]},
		"JPEG: half a length":         {bareJPEG, photo[:5]},
		"JPEG: a segment of no size":  {bareJPEG, []byte("\xff\xd8\xff\xe0\x00\x01\xff\xd9")},
		"JPEG: no marker":             {bareJPEG, []byte("\xff\xd8 what is this\xff\xd9")},
		"JPEG: a restart of nothing":  {bareJPEG, []byte("\xff\xd8\xff\xd0\xff\xd9")},
		"JPEG: a beginning in it":     {bareJPEG, []byte("\xff\xd8\xff\xd8\xff\xd9")},
		"PNG: nothing":                {barePNG, nil},
		"PNG: another file":           {barePNG, photo},
		"PNG: no end":                 {barePNG, drawing[:len(drawing)-12]},
		"PNG: half a chunk":           {barePNG, drawing[:len(drawing)-1]},
		"PNG: a chunk of 4 GB":        {barePNG, append(bytes.Clone(drawing[:33]), "\xff\xff\xff\xffIDAT12345678"...)},
		"WebP: nothing":               {bareWebP, nil},
		"WebP: another file":          {bareWebP, []byte("RIFF\x04\x00\x00\x00WAVE")},
		"WebP: shorter than it says":  {bareWebP, long},
		"WebP: too small":             {bareWebP, []byte("RIFF\x00\x00\x00\x00WEBP")},
		"WebP: half a chunk":          {bareWebP, riff(webpChunk("VP8L", []byte("12"))[:6])},
		"WebP: a chunk of 4 GB":       {bareWebP, riff([]byte("VP8L\xff\xff\xff\xff12"))},
		"WebP: a head without a body": {bareWebP, riff(webpChunk("VP8X", nil))},
		"WebP: an animation":          {bareWebP, riff(vp8x(1<<1, 4, 4))},
	} {
		if bare, _, err := c.bare(c.data); !errors.Is(err, errDamaged) || bare != nil {
			t.Errorf("%s: got %d bytes, %v, want %v", name, len(bare), err, errDamaged)
		}
	}
}

// Two extra bytes keep bareJPEG from parsing a JPEG that the decoder can still read. Shrink must turn such a picture
// upright, too.
func TestShrinkTurnsDamagedJPEG(t *testing.T) {
	t.Parallel()
	file := tell(asJPEG(t, halves(64, 32, blue)), 3)
	at := bytes.Index(file, []byte("\xff\xff\xdb")) // the position after the metadata, before the first table
	odd := bytes.Join([][]byte{file[:at], []byte("  "), file[at:]}, nil)
	if _, exif, err := bareJPEG(odd); err == nil || exif == nil {
		t.Fatalf("the file is taken apart (%v), or its EXIF data is not found (%d bytes)", err, len(exif))
	}
	img := decoded(t, shrink(t, odd))
	wantColor(t, img, 4, 4, blue)
	wantColor(t, img, 60, 28, red)
}

func TestOrientationOfDamaged(t *testing.T) {
	t.Parallel()
	whole := exif(binary.LittleEndian, 6)
	if got := orientationOf(whole); got != 6 {
		t.Errorf("the orientation is %d, want 6", got)
	}
	for n := range 34 { // cut the data at each byte before the value of the tag
		if got := orientationOf(whole[:n]); got != upright {
			t.Errorf("of %d bytes the orientation is %d, want %d", n, got, upright)
		}
	}
	none := bytes.Replace(whole, []byte("\x12\x01\x03\x00"), []byte("\x13\x01\x03\x00"), 1)
	for name, data := range map[string][]byte{
		"another tag":    none,
		"another type":   bytes.Replace(whole, []byte("\x12\x01\x03\x00"), []byte("\x12\x01\x04\x00"), 1),
		"no byte order":  append([]byte("XX*\x00"), whole[4:]...),
		"far away":       append([]byte("II*\x00\xff\xff\xff\xff"), whole[8:]...),
		"not a rotation": exif(binary.BigEndian, 77),
	} {
		if got := orientationOf(data); got != upright {
			t.Errorf("%s: the orientation is %d, want %d", name, got, upright)
		}
	}
}

// If the decoder of a picture panics, only this picture must fail, with ErrUnreadable.
func TestPanicInADecoder(t *testing.T) {
	t.Parallel()
	for _, f := range []format{
		{decode: func(io.Reader) (image.Image, error) { panic("index out of range") }},
		{decode: func(io.Reader) (image.Image, error) { return image.NewGray(image.Rectangle{}), nil }},
	} {
		if img, err := f.decodeAll(t.Context(), nil); img != nil || !errors.Is(err, ErrUnreadable) {
			t.Errorf("decodeAll = %v, %v, want %v", img, err, ErrUnreadable)
		}
	}
}

// reduce must support all color models that decoders return.
func TestReduceColors(t *testing.T) {
	t.Parallel()
	size := image.Rect(0, 0, 130, 70)
	gray := color.NRGBA{R: 128, G: 128, B: 128, A: 255}
	for _, img := range []interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		image.NewGray(size), image.NewGray16(size), image.NewRGBA64(size), image.NewNRGBA64(size), image.NewCMYK(size),
		image.NewPaletted(size, color.Palette{red, gray}),
	} {
		for y := range size.Dy() {
			for x := range size.Dx() {
				img.Set(x, y, gray)
			}
		}
		got, err := reduce(t.Context(), img, 13, 7)
		if err != nil {
			t.Fatal(err)
		}
		wantColor(t, got, 12, 6, gray)
	}
}
