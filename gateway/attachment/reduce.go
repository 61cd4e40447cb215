package attachment

import (
	"context"
	"image"
	"image/draw"
)

// band is the number of picture lines that reduce processes in one step.
const band = 64

// reduce scales src down to w by h pixels. w and h must not exceed the size of src. Each pixel of the result is the
// mean of the area that it covers in src, so thin lines become paler instead of vanishing. In addition to the result,
// reduce allocates only a few lines of src. reduce fails only when ctx ends.
func reduce(ctx context.Context, src image.Image, w, h int) (*image.RGBA, error) {
	bounds := src.Bounds()
	sw, sh := bounds.Dx(), bounds.Dy()
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	lines := image.NewRGBA(image.Rect(0, 0, sw, min(band, sh)))
	// To make all weights integers, divide the picture into small cells: each pixel of src covers w by h cells, and each
	// pixel of dst covers sw by sh cells. A sum is at most 255 * sw * sh and can't overflow uint64.
	row, sums := make([]uint64, 4*w), make([]uint64, 4*w)
	for y := range sh {
		if y%band == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			draw.Draw(lines, lines.Rect, src, bounds.Min.Add(image.Pt(0, y)), draw.Src)
		}
		clear(row)
		addLine(row, lines.Pix[y%band*lines.Stride:][:4*sw], sw, w)
		to := y * h / sh
		// here is the number of rows of cells of this line of src that belong to the current line of dst. The other rows of
		// cells of this line of src belong to the next line of dst.
		here := min(h, (to+1)*sh-y*h)
		for i, v := range row {
			sums[i] += v * uint64(here)
		}
		if (y+1)*h < (to+1)*sh {
			continue
		}
		for i, v := range sums {
			dst.Pix[to*dst.Stride+i] = uint8((v + uint64(sw*sh)/2) / uint64(sw*sh))
			sums[i] = row[i] * uint64(h-here)
		}
	}
	return dst, nil
}

// addLine adds the sw pixels of a line of the source to the w pixels of row. Each source pixel is weighted by the width
// that it shares with a pixel of row.
func addLine(row []uint64, line []byte, sw, w int) {
	for x := range sw {
		to := x * w / sw
		here := min(w, (to+1)*sw-x*w)
		for c := range 4 {
			v := uint64(line[4*x+c])
			row[4*to+c] += v * uint64(here)
			if here < w {
				row[4*to+4+c] += v * uint64(w-here)
			}
		}
	}
}
