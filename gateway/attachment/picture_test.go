package attachment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/webp"
	"pgregory.net/rapid"
)

var (
	red   = color.NRGBA{R: 255, A: 255}
	blue  = color.NRGBA{B: 255, A: 255}
	faint = color.NRGBA{G: 255, A: 100}
)

// halves returns a picture whose left half is red. The right half has the colour other.
func halves(w, h int, other color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		c := red
		if x >= w/2 {
			c = other
		}
		img.SetNRGBA(x, 0, c)
	}
	for y := 1; y < h; y++ {
		copy(img.Pix[y*img.Stride:], img.Pix[:img.Stride])
	}
	return img
}

// noise returns a picture that no format compresses well.
func noise(w, h int) *image.NRGBA {
	img, source := image.NewNRGBA(image.Rect(0, 0, w, h)), rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(source.Uint32()) | byte(i%4/3*255) // opaque
	}
	return img
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asGIF returns an animation. The first frame of the animation is red, and the other frames are blue.
func asGIF(t testing.TB, w, h, frames int) []byte {
	t.Helper()
	var g gif.GIF
	for i := range frames {
		frame := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{red, blue})
		for p := range frame.Pix {
			frame.Pix[p] = byte(min(i, 1))
		}
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, 1)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asWebP returns a lossless picture of one colour. Each prefix code of this picture has only one symbol, so the pixels need
// no bits. https://developers.google.com/speed/webp/docs/webp_lossless_bitstream_specification
func asWebP(w, h int, c color.NRGBA) []byte {
	var bits []byte
	n := 0
	put := func(v, count int) {
		for i := range count {
			if n%8 == 0 {
				bits = append(bits, 0)
			}
			bits[n/8] |= byte(v>>i&1) << (n % 8)
			n++
		}
	}
	put(0x2f, 8)
	put(w-1, 14)
	put(h-1, 14)
	put(1, 1) // transparency is used
	put(0, 3) // version
	put(0, 1) // no transforms
	put(0, 1) // no colour cache
	put(0, 1) // the picture uses one set of codes
	for _, symbol := range []byte{c.G, c.R, c.B, c.A, 0} {
		put(1, 1) // simple
		put(0, 1) // one symbol
		put(1, 1) // of eight bits
		put(int(symbol), 8)
	}
	return riff(webpChunk("VP8L", bits))
}

func webpChunk(name string, body []byte) []byte {
	chunk := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	chunk = append(chunk, body...)
	return append(chunk, make([]byte, len(body)%2)...)
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// vp8x returns the first chunk of an extended WebP file.
func vp8x(flags byte, w, h int) []byte {
	return webpChunk("VP8X", []byte{
		flags, 0, 0, 0, byte(w - 1), byte((w - 1) >> 8), byte((w - 1) >> 16), byte(h - 1), byte((h - 1) >> 8), byte((h - 1) >> 16),
	})
}

// exif returns EXIF data that contains an orientation and the constant secret.
func exif(order binary.AppendByteOrder, o uint16) []byte {
	data := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		data = []byte("MM\x00*")
	}
	data = order.AppendUint32(data, 8)
	data = order.AppendUint16(data, 2)
	entry := func(tag, kind uint16, count uint32, value uint16) {
		data = order.AppendUint16(order.AppendUint16(data, tag), kind)
		data = order.AppendUint16(order.AppendUint32(data, count), value)
		data = append(data, 0, 0)
	}
	entry(0x010f, 2, 4, 0)
	entry(0x0112, 3, 1, o)
	return append(order.AppendUint32(data, 0), secret...)
}

// secret stands for private data. The tests write this text to every place of a file that can contain metadata.
const secret = "GPS 52.5N 13.4E"

func segment(marker byte, body string) []byte {
	head := []byte{0xff, marker}
	return append(binary.BigEndian.AppendUint16(head, uint16(len(body)+2)), body...)
}

// tell adds metadata of every kind, including an orientation, to a JPEG file.
func tell(file []byte, o uint16) []byte {
	const soi = 2
	told := bytes.Join([][]byte{
		file[:soi],
		segment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"),
		segment(0xe1, "Exif\x00\x00"+string(exif(binary.BigEndian, o))),
		segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00"+secret),
		segment(0xe2, "ICC_PROFILE\x00\x01\x01colours"),
		segment(0xe2, "MPF\x00"+secret),
		segment(0xed, "Photoshop 3.0\x00"+secret),
		segment(0xfe, secret),
		{0xff}, // a fill byte
		file[soi:],
		[]byte("a second picture: " + secret),
	}, nil)
	return told
}

func pngChunk(name, body string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	chunk = append(chunk, name+body...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// decoded decodes a picture.
func decoded(t testing.TB, p Picture) image.Image {
	t.Helper()
	decode, ok := map[string]func([]byte) (image.Image, error){
		"image/jpeg": func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) },
		"image/png":  func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) },
		"image/webp": func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) },
	}[p.MediaType]
	if !ok {
		t.Fatalf("the type is %q", p.MediaType)
	}
	img, err := decode(p.Data)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// wantColor checks the colour of one pixel, with a tolerance for the losses of JPEG.
func wantColor(t testing.TB, img image.Image, x, y int, want color.NRGBA) {
	t.Helper()
	got, ok := color.NRGBAModel.Convert(img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y)).(color.NRGBA)
	far := func(a, b uint8) bool { return max(a, b)-min(a, b) > 12 }
	if !ok || far(got.R, want.R) || far(got.G, want.G) || far(got.B, want.B) || far(got.A, want.A) {
		t.Errorf("at %d,%d is %v, want %v", x, y, got, want)
	}
}

func shrink(t testing.TB, data []byte) Picture {
	t.Helper()
	p, err := Shrink(t.Context(), data)
	if err != nil {
		t.Fatalf("Shrink: %v", err)
	}
	return p
}

// Shrink must return a small picture unchanged, and reduce a larger picture to the documented size and type.
func TestShrinkSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		file []byte
		want string // media type of the result
		w, h int
		same bool
	}{
		{"small JPEG", asJPEG(t, halves(40, 30, blue)), "image/jpeg", 40, 30, true},
		{"small PNG", asPNG(t, halves(1568, 1, faint)), "image/png", 1568, 1, true},
		{"small WebP", asWebP(1568, 100, blue), "image/webp", 1568, 100, true},
		{"a pixel", asPNG(t, halves(1, 1, red)), "image/png", 1, 1, true},
		{"wide JPEG", asJPEG(t, halves(3136, 100, blue)), "image/jpeg", 1568, 50, false},
		{"high PNG", asPNG(t, halves(101, 1569, blue)), "image/jpeg", 101, 1568, false},
		{"wide WebP", asWebP(10000, 3, blue), "image/jpeg", 1568, 1, false},
		{"a line", asPNG(t, halves(2, 20000, blue)), "image/jpeg", 1, 1568, false},
		{"transparent PNG", asPNG(t, halves(2000, 100, faint)), "image/png", 1568, 78, false},
		{"many bytes", asPNG(t, noise(600, 600)), "image/jpeg", 600, 600, false},
		{"GIF", asGIF(t, 50, 20, 1), "image/jpeg", 50, 20, false},
		{"animation", asGIF(t, 50, 20, 1000), "image/jpeg", 50, 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := shrink(t, c.file)
			img := decoded(t, p)
			if got := img.Bounds(); p.MediaType != c.want || got.Dx() != c.w || got.Dy() != c.h {
				t.Errorf("got %s of %v, want %s of %d by %d", p.MediaType, got, c.want, c.w, c.h)
			}
			if got := bytes.Equal(p.Data, c.file); got != c.same {
				t.Errorf("the file is as it was: %t, want %t", got, c.same)
			}
		})
	}
}

func TestShrinkColors(t *testing.T) {
	t.Parallel()
	img := decoded(t, shrink(t, asPNG(t, halves(4000, 200, blue))))
	wantColor(t, img, 700, 5, red)
	wantColor(t, img, 860, 75, blue)
	img = decoded(t, shrink(t, asPNG(t, halves(4000, 200, faint))))
	wantColor(t, img, 700, 5, red)
	wantColor(t, img, 860, 75, faint)
	img = decoded(t, shrink(t, asGIF(t, 50, 20, 3)))
	wantColor(t, img, 25, 10, red)
	img = decoded(t, shrink(t, asWebP(2000, 20, blue)))
	wantColor(t, img, 25, 10, blue)
}

// A transparent picture would be a large file as a PNG. Shrink must convert the picture to a JPEG with a white background.
func TestShrinkTransparentNoise(t *testing.T) {
	t.Parallel()
	img := noise(610, 610)
	for i := 3; i < 20*img.Stride; i += 4 {
		img.Pix[i] = 0
	}
	p := shrink(t, asPNG(t, img))
	if p.MediaType != "image/jpeg" {
		t.Fatalf("the type is %s, want image/jpeg", p.MediaType)
	}
	wantColor(t, decoded(t, p), 100, 5, color.NRGBA{255, 255, 255, 255})
}

// Shrink must remove every kind of metadata, whether Shrink encodes the picture again or not.
func TestShrinkRemovesMetadata(t *testing.T) {
	t.Parallel()
	small := asPNG(t, halves(40, 30, blue))
	const head = 8 + 25 // the signature and IHDR
	talkative := bytes.Join([][]byte{
		small[:head], pngChunk("eXIf", string(exif(binary.LittleEndian, 1))), pngChunk("tEXt", "Comment\x00"+secret),
		pngChunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+secret), pngChunk("tIME", secret[:7]), small[head:], []byte(secret),
	}, nil)
	lossless := asWebP(40, 30, blue)[12:]
	for name, file := range map[string][]byte{
		"JPEG":          tell(asJPEG(t, halves(40, 30, blue)), 1),
		"large JPEG":    tell(asJPEG(t, halves(2000, 30, blue)), 1),
		"turned JPEG":   tell(asJPEG(t, halves(40, 30, blue)), 3),
		"PNG":           talkative,
		"WebP":          riff(vp8x(1<<3|1<<2, 40, 30), lossless, webpChunk("EXIF", exif(binary.LittleEndian, 1)), webpChunk("XMP ", []byte(secret))),
		"odd WebP":      riff(vp8x(1<<3, 40, 30), webpChunk("XXXX", []byte(secret)), lossless),
		"WebP and more": append(riff(lossless), secret...),
	} {
		if !bytes.Contains(file, []byte(secret)) {
			t.Fatalf("%s: the file holds no secret", name)
		}
		p := shrink(t, file)
		if bytes.Contains(p.Data, []byte("GPS")) || bytes.Contains(p.Data, []byte("Exif")) {
			t.Errorf("%s: the picture still tells where it was taken", name)
		}
		img := decoded(t, p)
		want := [2]color.NRGBA{red, blue}
		switch name {
		case "turned JPEG":
			want = [2]color.NRGBA{blue, red}
		case "WebP", "odd WebP", "WebP and more":
			want[0] = blue
		}
		wantColor(t, img, 2, 2, want[0])
		wantColor(t, img, img.Bounds().Dx()-3, 2, want[1])
	}
	if p := shrink(t, tell(asJPEG(t, halves(40, 30, blue)), 1)); !bytes.Contains(p.Data, []byte("colours")) {
		t.Error("the profile of the colours is gone")
	}
	if p := shrink(t, riff(vp8x(1<<3|1<<2|1<<4, 40, 30), lossless)); p.Data[20] != 1<<4 {
		t.Errorf("the flags of the WebP file are %#x, want %#x", p.Data[20], 1<<4)
	}
}

// One corner of a picture has another colour. After Shrink, this corner must be where the camera saw it, for all eight
// orientations.
func TestShrinkTurnsUpright(t *testing.T) {
	t.Parallel()
	img := halves(64, 32, red)
	for y := range 16 {
		for x := range 16 {
			img.SetNRGBA(x, y, blue) // the corner that is stored first
		}
	}
	file := asJPEG(t, img)
	for o, c := range map[uint16]struct{ w, h, x, y int }{
		0: {64, 32, 0, 0}, 1: {64, 32, 0, 0}, 2: {64, 32, 1, 0}, 3: {64, 32, 1, 1}, 4: {64, 32, 0, 1},
		5: {32, 64, 0, 0}, 6: {32, 64, 1, 0}, 7: {32, 64, 1, 1}, 8: {32, 64, 0, 1}, 9: {64, 32, 0, 0},
	} {
		got := decoded(t, shrink(t, tell(file, o)))
		if b := got.Bounds(); b.Dx() != c.w || b.Dy() != c.h {
			t.Errorf("orientation %d: the size is %v, want %d by %d", o, b, c.w, c.h)
			continue
		}
		for _, corner := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			want := red
			if corner == [2]int{c.x, c.y} {
				want = blue
			}
			wantColor(t, got, 4+corner[0]*(c.w-9), 4+corner[1]*(c.h-9), want)
		}
	}
}

// pngHead returns the beginning of a PNG file that claims to have the given size.
func pngHead(w, h uint32, depth, kind, interlace byte) []byte {
	body := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	return append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", string(append(body, depth, kind, 0, 0, interlace)))...)
}

// jpegHead returns the beginning of a JPEG file that claims to have the given size.
func jpegHead(sof byte, w, h uint16) []byte {
	body := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{8}, h), w)
	frame := segment(sof, string(append(body, 3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1)))
	return bytes.Join([][]byte{{0xff, 0xd8}, frame, segment(0xda, "")}, nil)
}

// Shrink must refuse a decompression bomb after reading only its header, so that it never allocates memory for the
// claimed size.
func TestShrinkRefusesBombs(t *testing.T) {
	t.Parallel()
	bombs := map[string][]byte{
		"PNG of 900 megapixels":               pngHead(30000, 30000, 8, 2, 0),
		"PNG of one long line":                pngHead(30001, 1, 8, 2, 0),
		"PNG of 16 bits":                      pngHead(6000, 6000, 16, 6, 0),
		"PNG in passes":                       pngHead(7000, 7000, 8, 6, 1),
		"JPEG of 4 gigapixels":                jpegHead(0xc0, 65535, 65535),
		"progressive JPEG":                    jpegHead(0xc2, 6000, 6000),
		"JPEG with something before its head": append([]byte{0xff, 0xd8, 0xff, 0xe0, 0, 2, 'x'}, jpegHead(0xc2, 6000, 6000)[2:]...),
		"WebP":                                asWebP(16384, 16384, red),
		"extended WebP":                       riff(vp8x(0, 1<<24, 100)),
		"transparent WebP":                    riff(vp8x(1<<4, 5000, 5000)),
		"GIF":                                 []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"),
	}
	for name, file := range bombs {
		if _, err := Shrink(t.Context(), file); !errors.Is(err, ErrTooBig) {
			t.Errorf("%s: Shrink = %v, want %v", name, err, ErrTooBig)
		}
	}
	// The header states a small size, and the image data a large one.
	liar := riff(vp8x(0, 10, 10), webpChunk("ICCP", make([]byte, smallFile)), asWebP(16384, 16384, red)[12:])
	if _, err := Shrink(t.Context(), liar); !errors.Is(err, ErrUnreadable) {
		t.Errorf("Shrink = %v, want %v", err, ErrUnreadable)
	}
}

func TestShrinkUnreadable(t *testing.T) {
	t.Parallel()
	file := asJPEG(t, halves(2000, 100, blue))
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"text":           []byte("hello"),
		"BMP":            []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00"),
		"head of a JPEG": file[:30],
		"half a JPEG":    file[:len(file)/2],
		"no pixels":      []byte("GIF89a\x00\x00\x05\x00\x00\x00\x00;"),
		"animated WebP":  riff(vp8x(1<<1, 40, 30), webpChunk("ANIM", make([]byte, 6)), webpChunk("ANMF", make([]byte, 20))),
		"PNG head":       pngHead(2000, 10, 8, 2, 0),
		"no such size":   pngHead(1<<31-1, 1<<31-1, 8, 2, 0),
	} {
		if p, err := Shrink(t.Context(), data); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: Shrink = %s of %d bytes, %v, want %v", name, p.MediaType, len(p.Data), err, ErrUnreadable)
		}
	}
}

func TestShrinkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Shrink(ctx, asPNG(t, halves(2000, 100, blue)))
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreadable) {
		t.Errorf("Shrink = %v, want %v", err, context.Canceled)
	}
	if _, err := reduce(ctx, halves(20, 20, blue), 5, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("reduce = %v, want %v", err, context.Canceled)
	}
}

// reduce must keep the mean color of a picture for all sizes, and leave a picture that already has the target size unchanged.
func TestReduceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 150)
		sw, sh := side.Draw(t, "width"), side.Draw(t, "height")
		w, h := rapid.IntRange(1, sw).Draw(t, "to width"), rapid.IntRange(1, sh).Draw(t, "to height")
		src := noise(sw+3, sh+2).SubImage(image.Rect(3, 2, sw+3, sh+2))
		dst, err := reduce(t.Context(), src, w, h)
		if err != nil {
			t.Fatal(err)
		}
		mean := func(img image.Image) float64 {
			sum, b := 0.0, img.Bounds()
			for y := b.Min.Y; y < b.Max.Y; y++ {
				for x := b.Min.X; x < b.Max.X; x++ {
					r, _, _, _ := img.At(x, y).RGBA()
					sum += float64(r >> 8)
				}
			}
			return sum / float64(b.Dx()*b.Dy())
		}
		if got, want := mean(dst), mean(src); got-want > 0.51 || want-got > 0.51 {
			t.Errorf("the mean is %v, want %v", got, want)
		}
		if w == sw && h == sh {
			for y := range h {
				for x := range w {
					if got, want := dst.At(x, y), color.RGBAModel.Convert(src.At(x+3, y+2)); got != want {
						t.Fatalf("at %d,%d is %v, want %v", x, y, got, want)
					}
				}
			}
		}
	})
}

// FuzzShrink asserts that no file breaks Shrink, and that its result is a small picture. FuzzShrink skips inputs that
// would take too long.
func FuzzShrink(f *testing.F) {
	f.Add(tell(asJPEG(f, halves(40, 30, blue)), 6))
	f.Add(asPNG(f, halves(40, 30, faint)))
	f.Add(asGIF(f, 9, 9, 2))
	f.Add(riff(vp8x(1<<3, 40, 30), asWebP(40, 30, blue)[12:], webpChunk("EXIF", exif(binary.BigEndian, 8))))
	f.Add(pngHead(30000, 30000, 8, 2, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, _, err := image.DecodeConfig(bytes.NewReader(data))
		if pixels := config.Width * config.Height; err == nil && pixels > 1<<20 && pixels <= maxPixels {
			return // decoding such pictures would only be slow; larger ones are refused at once, so they are tested
		}
		p, err := Shrink(t.Context(), data)
		switch {
		case err != nil:
			if !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrTooBig) {
				t.Fatalf("Shrink = %v", err)
			}
		case !strings.HasPrefix(p.MediaType, "image/"):
			t.Fatalf("the type is %q", p.MediaType)
		default:
			config, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
			if err != nil || config.Width > longestSide || config.Height > longestSide {
				t.Fatalf("the picture is %d by %d, %v", config.Width, config.Height, err)
			}
		}
	})
}

// FuzzBare asserts that removing the metadata a second time changes nothing.
func FuzzBare(f *testing.F) {
	f.Add(tell(asJPEG(f, halves(40, 30, blue)), 6))
	f.Add(asPNG(f, halves(40, 30, faint)))
	f.Add(riff(vp8x(1<<3, 40, 30), asWebP(40, 30, blue)[12:], webpChunk("EXIF", exif(binary.BigEndian, 8))))
	f.Fuzz(func(t *testing.T, data []byte) {
		progressive(data)
		for _, strip := range []func([]byte) ([]byte, []byte, error){bareJPEG, barePNG, bareWebP} {
			bare, _, err := strip(data)
			if err != nil {
				continue
			}
			again, exif, err := strip(bare)
			if err != nil || exif != nil || !bytes.Equal(again, bare) || len(bare) > len(data) {
				t.Fatalf("again: %d of %d bytes with %d of EXIF, %v", len(again), len(bare), len(exif), err)
			}
		}
	})
}

// FuzzOrientation asserts that any EXIF data gives a valid orientation.
func FuzzOrientation(f *testing.F) {
	f.Add(exif(binary.LittleEndian, 6))
	f.Add(exif(binary.BigEndian, 8)[:30])
	f.Add([]byte("II*\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := orientationOf(data); o < 1 || o > 8 {
			t.Fatalf("the orientation is %d", o)
		}
	})
}
