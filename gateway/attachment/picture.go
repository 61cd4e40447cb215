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

// Limits of input and output pictures. Models use pictures of about longestSide pixels and reduce larger ones
// themselves: https://platform.claude.com/docs/en/build-with-claude/vision and
// https://platform.openai.com/docs/guides/images-vision.
const (
	longestSide = 1568      // output: longest side in pixels
	smallFile   = 1_000_000 // output: largest file, in bytes, that is not encoded again
	jpegQuality = 85

	maxPixels  = 50_000_000
	maxSide    = 30_000      // maximum width or height, in pixels
	maxDecoded = 200_000_000 // maximum size of a decoded picture, in bytes: four for each of maxPixels
)

// Picture is a picture in a format that models accept: JPEG, PNG or WebP, without metadata.
type Picture struct {
	MediaType string
	Data      []byte
}

// Shrink returns a picture for a model: at most 1568 pixels wide and high, never enlarged, upright, and without
// metadata such as the place. A small upright picture is not decoded; only its metadata is removed. Other pictures become a
// JPEG, or a PNG if they are transparent and small. If the file is a GIF, only its first picture is converted, since
// models refuse animations.
//
// Shrink reads JPEG, PNG, GIF and WebP. Anything else, including an animated WebP, fails with ErrUnreadable. A picture
// of more than 50 megapixels, or one that would take more than 200 MB, fails with ErrTooBig before it is decoded. One
// call may use 200 MB of memory, so the caller must limit concurrent calls. If ctx ends, the error wraps ctx's error.
func Shrink(ctx context.Context, data []byte) (Picture, error) {
	mediaType := http.DetectContentType(data)
	f, ok := formatOf(mediaType)
	if !ok {
		return Picture{}, fmt.Errorf("%w: %s is not a picture", ErrUnreadable, mediaType)
	}
	config, err := f.config(bytes.NewReader(data))
	if err != nil {
		return Picture{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := checkMemory(mediaType, config, data); err != nil {
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
	return encode(turned.rotate(small))
}

// format contains the functions for one type of picture file.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// bare returns the file without metadata. If the function bare is nil, Shrink always decodes files of this type and
	// encodes them again.
	bare func(data []byte) (bare, exif []byte, err error)
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

// checkMemory returns an error if the decoded picture would take too much memory.
func checkMemory(mediaType string, c image.Config, data []byte) error {
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

// bytesPerPixel returns the maximum memory per pixel that the decoders need, in the versions that go.mod names.
func bytesPerPixel(mediaType string, m color.Model, data []byte) int {
	switch mediaType {
	case "image/gif":
		return 2
	case "image/webp":
		if m == color.NYCbCrAModel { // the decoder allocates the alpha channel as a separate picture
			return 12
		}
		return 8
	case "image/jpeg":
		need := 3
		if m != color.YCbCrModel && m != color.GrayModel { // the decoder converts the colours
			need = 8
		}
		if progressive(data) { // the decoder keeps all coefficients, four bytes each
			need += 16
		}
		return need
	}
	need := 4
	if m == color.RGBA64Model || m == color.NRGBA64Model {
		need = 8
	}
	const interlaced = 28 // offset of the interlace flag in a PNG
	if len(data) > interlaced && data[interlaced] != 0 {
		need += need / 2 // the decoder allocates the last pass of an interlaced PNG in addition to the whole picture
	}
	return need
}

// decodeAll decodes a picture, or the first picture of an animation. If the decoder panics, the file counts as damaged.
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

// reader is an io.Reader that fails after its context has ended.
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

// fit returns the size to which a picture of w by h pixels is reduced, so that its longest side is within the limit.
func fit(w, h int) (int, int) {
	longest := max(w, h)
	if longest <= longestSide {
		return w, h
	}
	scaled := func(n int) int { return max(1, (n*longestSide+longest/2)/longest) }
	return scaled(w), scaled(h)
}

// encode encodes a picture. A transparent picture stays transparent if the PNG is small; otherwise the
// background becomes white.
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
