package attachment

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// errDamaged means that the structure of a file is invalid.
var errDamaged = errors.New("damaged file")

// bareJPEG returns a JPEG file with only the data needed to show it. bareJPEG removes the place, time and device of a
// photo, previews, comments and trailing bytes. exif is the removed EXIF data, from which the caller reads the
// orientation. https://www.w3.org/Graphics/JPEG/itu-t81.pdf, annex B.
func bareJPEG(data []byte) (bare, exif []byte, err error) {
	const exifHead = "Exif\x00\x00"
	if !bytes.HasPrefix(data, []byte{0xff, 0xd8}) {
		return nil, exif, errDamaged
	}
	bare = append(make([]byte, 0, len(data)), data[:2]...)
	for rest := data[2:]; ; {
		if len(rest) < 2 || rest[0] != 0xff {
			return nil, exif, errDamaged
		}
		marker := rest[1]
		switch {
		case marker == 0xff: // a fill byte
			rest = rest[1:]
			continue
		case marker == 0xd9: // the end of the picture
			return append(bare, rest[:2]...), exif, nil
		case marker == 0x01, marker >= 0xd0 && marker <= 0xd8: // markers without a length are invalid here
			return nil, exif, errDamaged
		}
		if len(rest) < 4 {
			return nil, exif, errDamaged
		}
		size := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if size < 4 || size > len(rest) {
			return nil, exif, errDamaged
		}
		body := rest[4:size]
		if after, ok := bytes.CutPrefix(body, []byte(exifHead)); ok && marker == 0xe1 && exif == nil {
			exif = after
		}
		if marker == 0xda { // a scan; after it comes coded data whose length the file does not state
			size += scanLength(rest[size:])
		}
		if neededInJPEG(marker, body) {
			bare = append(bare, rest[:size]...)
		}
		rest = rest[size:]
	}
}

// progressive reports whether a JPEG is progressive or can't be parsed.
func progressive(data []byte) bool {
	for rest := data[min(2, len(data)):]; len(rest) >= 4 && rest[0] == 0xff; {
		switch rest[1] {
		case 0xff: // a fill byte
			rest = rest[1:]
			continue
		case 0xc0, 0xc1:
			return false
		case 0xc2:
			return true
		}
		rest = rest[min(len(rest), 2+int(binary.BigEndian.Uint16(rest[2:]))):]
	}
	return true
}

// neededInJPEG reports whether a segment affects how the picture looks. Among the application segments, only those that
// define colours are needed.
func neededInJPEG(marker byte, body []byte) bool {
	switch marker {
	case 0xe0, 0xee: // JFIF and Adobe define the colour encoding
		return true
	case 0xe2:
		return bytes.HasPrefix(body, []byte("ICC_PROFILE\x00"))
	}
	return marker != 0xfe && (marker < 0xe0 || marker > 0xef)
}

// scanLength returns the length of the coded data up to the next marker that is not part of the scan.
func scanLength(data []byte) int {
	for i := 0; i+1 < len(data); i++ {
		if next := data[i+1]; data[i] == 0xff && next != 0 && next != 0xff && (next < 0xd0 || next > 0xd7) {
			return i
		}
	}
	return len(data)
}

// barePNG returns a PNG file with only the chunks that are needed to show the picture.
// https://www.w3.org/TR/png-3/#11Chunks
func barePNG(data []byte) (bare, exif []byte, err error) {
	const signature, overhead = "\x89PNG\r\n\x1a\n", 12 // bytes of a chunk's length, type and checksum
	if !bytes.HasPrefix(data, []byte(signature)) {
		return nil, nil, errDamaged
	}
	bare = append(make([]byte, 0, len(data)), signature...)
	for rest := data[len(signature):]; ; {
		if len(rest) < overhead {
			return nil, nil, errDamaged
		}
		size := uint64(binary.BigEndian.Uint32(rest)) + overhead
		if size > uint64(len(rest)) {
			return nil, nil, errDamaged
		}
		chunk := rest[:size]
		switch name := string(chunk[4:8]); name {
		case "IHDR", "PLTE", "tRNS", "IDAT", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT":
			bare = append(bare, chunk...)
		case "IEND":
			return append(bare, chunk...), exif, nil
		case "eXIf":
			exif = chunk[8 : size-4]
		}
		rest = rest[size:]
	}
}

// bareWebP returns a WebP file with only the chunks that are needed to show the picture. If the file is an animation,
// bareWebP returns errDamaged. https://developers.google.com/speed/webp/docs/riff_container
func bareWebP(data []byte) (bare, exif []byte, err error) {
	const head, chunkHead, flagExif, flagXMP, flagAnimated = 12, 8, 1 << 3, 1 << 2, 1 << 1
	if len(data) < head || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return nil, nil, errDamaged
	}
	end := uint64(binary.LittleEndian.Uint32(data[4:])) + 8
	if end < head || end > uint64(len(data)) {
		return nil, nil, errDamaged
	}
	bare = append(make([]byte, 0, end), data[:head]...)
	for rest := data[head:end]; len(rest) > 0; {
		if len(rest) < chunkHead {
			return nil, nil, errDamaged
		}
		size := chunkHead + uint64(binary.LittleEndian.Uint32(rest[4:]))
		padded := size + size%2
		if padded > uint64(len(rest)) {
			return nil, nil, errDamaged
		}
		switch string(rest[:4]) {
		case "VP8X":
			if size == chunkHead || rest[chunkHead]&flagAnimated != 0 {
				return nil, nil, errDamaged
			}
			at := len(bare) + chunkHead
			bare = append(bare, rest[:padded]...)
			bare[at] &^= flagExif | flagXMP
		case "VP8 ", "VP8L", "ALPH", "ICCP":
			bare = append(bare, rest[:padded]...)
		case "EXIF":
			exif = bytes.TrimPrefix(rest[chunkHead:size], []byte("Exif\x00\x00"))
		}
		rest = rest[padded:]
	}
	binary.LittleEndian.PutUint32(bare[4:], uint32(len(bare)-8))
	return bare, exif, nil
}
