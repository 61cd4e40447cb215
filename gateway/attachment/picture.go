package attachment

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"

	"golang.org/x/image/webp"
)

// Bounds of what is taken and given. Models look at pictures in about this size and reduce
// larger ones themselves: https://platform.claude.com/docs/en/build-with-claude/vision and
// https://platform.openai.com/docs/guides/images-vision.
const (
	longestSide = 1568      // pixels of a picture that is given
	smallFile   = 1_000_000 // bytes of a file that is given as it is
	jpegQuality = 85

	maxPixels  = 50_000_000
	maxSide    = 30_000      // pixels
	maxDecoded = 200_000_000 // bytes; four for each of maxPixels
)

// Picture is one that models take: a JPEG, a PNG or a WebP without metadata.
type Picture struct {
	MediaType string
	Data      []byte
}

// Shrink returns a picture for a model: at most 1568 pixels wide and high and never larger than
// it was, upright, and without metadata such as where it was taken. A small picture
// passes without being decoded, and only its metadata is removed.
// Others become a JPEG, or a PNG if that is transparent and small. So does the first picture of
// every GIF, which may be an animation: models refuse animations.
//
// It reads JPEG, PNG, GIF and WebP; all else, an animated WebP too, is ErrUnreadable. A picture of more than 50
// megapixels, or one that would take more than 200 MB, is ErrTooBig before it is decoded. So
// much a call may hold for its while: the caller sees to it that few run at once. When ctx
// ends the error wraps ctx's.
func Shrink(ctx context.Context, data []byte) (Picture, error) {
	mediaType := http.DetectContentType(data)
	f, ok := formatOf(mediaType)
	if !ok {
		return Picture{}, fmt.Errorf("%w: %s is no picture", ErrUnreadable, mediaType)
	}
	config, err := f.config(bytes.NewReader(data))
	if err != nil {
		return Picture{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := affordable(mediaType, config, data); err != nil {
		return Picture{}, err
	}
	turned := upright
	if f.bare != nil {
		bare, exif, err := f.bare(data)
		turned = orientationOf(exif)
		if err == nil && turned == upright && len(bare) <= smallFile && max(config.Width, config.Height) <= longestSide {
			return Picture{MediaType: mediaType, Data: bare}, nil
		}
	}
	img, err := f.decodeAll(ctx, data)
	if err != nil {
		return Picture{}, err
	}
	size := img.Bounds()
	w, h := fit(size.Dx(), size.Dy())
	small, err := reduce(ctx, img, w, h)
	if err != nil {
		return Picture{}, fmt.Errorf("shrink picture: %w", err)
	}
	return encode(turned.turn(small))
}

// format is how one type of file is read.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	bare   func(data []byte) (bare, exif []byte, err error) // nil: the file never passes as it is
}

func formatOf(mediaType string) (format, bool) {
	switch mediaType {
	case "image/jpeg":
		return format{jpeg.DecodeConfig, jpeg.Decode, bareJPEG}, true
	case "image/png":
		return format{png.DecodeConfig, png.Decode, barePNG}, true
	case "image/gif":
		return format{gif.DecodeConfig, gif.Decode, nil}, true
	case "image/webp":
		return format{webp.DecodeConfig, webp.Decode, bareWebP}, true
	}
	return format{}, false
}

// affordable refuses a picture that would take too much memory once decoded.
func affordable(mediaType string, c image.Config, data []byte) error {
	if c.Width < 1 || c.Height < 1 {
		return fmt.Errorf("%w: it has no pixels", ErrUnreadable)
	}
	if c.Width > maxSide || c.Height > maxSide || c.Width*c.Height > maxPixels {
		return fmt.Errorf("%w: %d by %d pixels", ErrTooBig, c.Width, c.Height)
	}
	if need := c.Width * c.Height * bytesPerPixel(mediaType, c.ColorModel, data); need > maxDecoded {
		return fmt.Errorf("%w: %d by %d pixels take %d bytes", ErrTooBig, c.Width, c.Height, need)
	}
	return nil
}

// bytesPerPixel returns the most that the decoders of these versions hold for one pixel.
func bytesPerPixel(mediaType string, m color.Model, data []byte) int {
	switch mediaType {
	case "image/gif":
		return 2
	case "image/webp":
		if m == color.NYCbCrAModel { // its transparency is decoded as a picture of its own
			return 12
		}
		return 8
	case "image/jpeg":
		need := 3
		if m != color.YCbCrModel && m != color.GrayModel { // its colours are converted
			need = 8
		}
		if progressive(data) { // all coefficients are held, four bytes each
			need += 16
		}
		return need
	}
	need := 4
	if m == color.RGBA64Model || m == color.NRGBA64Model {
		need = 8
	}
	const interlaced = 28 // where a PNG says so
	if len(data) > interlaced && data[interlaced] != 0 {
		need += need / 2 // the last of its passes is held beside the whole
	}
	return need
}

// decodeAll decodes the picture, or the first of several. A panic of the decoder means a damaged file.
func (f format) decodeAll(ctx context.Context, data []byte) (img image.Image, err error) {
	defer func() {
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("%w: panic: %T", ErrUnreadable, p)
		}
	}()
	img, err = f.decode(&reader{ctx.Err, bytes.NewReader(data)})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("decode picture: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	case img.Bounds().Empty():
		return nil, fmt.Errorf("%w: it has no pixels", ErrUnreadable)
	}
	return img, nil
}

// reader ends when its context does.
type reader struct {
	ended func() error
	data  io.Reader
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	return r.data.Read(p)
}

// fit returns the size of a picture of w by h pixels once its longest side is short enough.
func fit(w, h int) (int, int) {
	longest := max(w, h)
	if longest <= longestSide {
		return w, h
	}
	scaled := func(n int) int { return max(1, (n*longestSide+longest/2)/longest) }
	return scaled(w), scaled(h)
}

// encode writes a picture. Transparency is kept where that costs little, else it becomes white.
func encode(img *image.RGBA) (Picture, error) {
	var buf bytes.Buffer
	if !img.Opaque() {
		if err := png.Encode(&buf, img); err != nil {
			return Picture{}, fmt.Errorf("encode picture: %w", err)
		}
		if buf.Len() <= smallFile {
			return Picture{MediaType: "image/png", Data: buf.Bytes()}, nil
		}
		buf.Reset()
		paper := image.NewRGBA(img.Rect)
		draw.Draw(paper, paper.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(paper, paper.Rect, img, img.Rect.Min, draw.Over)
		img = paper
	}
	if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return Picture{}, fmt.Errorf("encode picture: %w", err)
	}
	return Picture{MediaType: "image/jpeg", Data: buf.Bytes()}, nil
}
