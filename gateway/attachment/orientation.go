package attachment

import (
	"encoding/binary"
	"image"
	"slices"
)

// orientation is the value of the EXIF tag Orientation, which tells how to rotate or mirror a picture: Exif 2.32, 4.6.4
// A, https://www.cipa.jp/std/documents/e/DC-X008-Translation-2019-E.pdf
type orientation uint16

// upright is the orientation of a picture that needs no rotation.
const upright orientation = 1

// Sizes and values of a TIFF header and its first directory.
const (
	tiffHeader      = 8
	tiffEntry       = 12
	tiffShort       = 3
	tagOrientation  = 0x0112
	lastOrientation = 8
)

// orientationOf reads the orientation from EXIF data, which is a TIFF file without a picture. If the data is missing or
// damaged, orientationOf returns upright.
func orientationOf(exif []byte) orientation {
	if len(exif) < tiffHeader {
		return upright
	}
	var order binary.ByteOrder
	switch string(exif[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return upright
	}
	at := uint64(order.Uint32(exif[4:]))
	if at+2 > uint64(len(exif)) {
		return upright
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < tiffEntry {
			return upright
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == tiffShort && order.Uint32(entries[4:]) == 1 {
			if o := orientation(order.Uint16(entries[8:])); o >= upright && o <= lastOrientation {
				return o
			}
			return upright
		}
		entries = entries[tiffEntry:]
	}
	return upright
}

// rotate returns the picture in its correct orientation. rotate returns src itself if no rotation is needed.
func (o orientation) rotate(src *image.RGBA) *image.RGBA {
	if o <= upright || o > lastOrientation {
		return src
	}
	onSide := o >= 5 // in these orientations, width and height are exchanged
	flipX, flipY := slices.Contains([]orientation{2, 3, 6, 7}, o), slices.Contains([]orientation{3, 4, 7, 8}, o)
	w, h := src.Rect.Dx(), src.Rect.Dy()
	size := image.Pt(w, h)
	if onSide {
		size = image.Pt(h, w)
	}
	dst := image.NewRGBA(image.Rectangle{Max: size})
	for y := range h {
		for x := range w {
			tx, ty := x, y
			if onSide {
				tx, ty = y, x
			}
			if flipX {
				tx = size.X - 1 - tx
			}
			if flipY {
				ty = size.Y - 1 - ty
			}
			from, to := y*src.Stride+4*x, ty*dst.Stride+4*tx
			copy(dst.Pix[to:to+4], src.Pix[from:from+4])
		}
	}
	return dst
}
