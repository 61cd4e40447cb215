package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // registers the format
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format
	"math"
	"mime"
	"slices"
	"strings"
)

// maxImage is the maximum size of an image in bytes, after decoding the base64.
// https://platform.openai.com/docs/guides/images-vision#image-input-requirements
const maxImage = 20 << 20

// Image describes an image in a request.
type Image struct {
	Width  int    `json:"width"`  // in pixels
	Height int    `json:"height"` // in pixels
	Type   string `json:"type"`   // png, jpeg, gif or webp.
	Bytes  int    `json:"bytes"`  // size of the file, not of its base64 encoding

	low bool // the client requested low detail
}

func (m Image) String() string {
	return fmt.Sprintf("%dx%d %s, %d bytes", m.Width, m.Height, m.Type, m.Bytes)
}

// Error messages in OpenAI's words.
const (
	unsupportedImage = "You uploaded an unsupported image. Please make sure your image has of one the following formats: " +
		"['png', 'jpeg', 'gif', 'webp']."
	invalidImage = "You uploaded an unsupported image. Please make sure your image is valid."
)

// readImage parses the field image_url of a content part. param is the path of the part in the request.
// https://platform.openai.com/docs/guides/images-vision
func readImage(raw json.RawMessage, param string) Image {
	var part struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	decode(raw, &part, param, "an object with a url")
	invalidIf(!slices.Contains([]string{"", "auto", "low", "high"}, part.Detail), param+".detail", "invalid_value",
		"Invalid value: '%s'. Supported values are: 'low', 'high', and 'auto'.", part.Detail)
	scheme, rest, _ := strings.Cut(part.URL, ":")
	switch strings.ToLower(scheme) {
	case "data":
	case "http", "https":
		panic(invalid(param, "invalid_image_url", "Error while downloading %s.", clip(part.URL, 100)))
	default:
		panic(invalid(param, "invalid_image_url", "Invalid '%s'. Expected a valid URL, but got a value with an invalid format.", param))
	}
	const expected = "Invalid '%s'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got "
	header, payload, ok := strings.Cut(rest, ",")
	kind, encoded := strings.CutSuffix(header, ";base64")
	media, _, err := mime.ParseMediaType(kind)
	invalidIf(err != nil || !ok || !encoded || !strings.HasPrefix(media, "image/"), param, "invalid_value", expected+"'%s'.", param, clip(header, 60))
	invalidIf(!slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media), "", "invalid_image_format", unsupportedImage)
	data, err := base64.StdEncoding.DecodeString(payload)
	invalidIf(err != nil, param, "invalid_base64", "Invalid base64 image_url.")
	invalidIf(len(data) == 0, param, "invalid_value", expected+"empty base64-encoded bytes.", param)
	invalidIf(len(data) > maxImage, "", "image_too_large", "You uploaded an unsupported image. Please make sure your image is below 20 MB "+
		"in size and is of one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
	found, err := readImageHeader(data)
	invalidIf(err != nil, "", "invalid_image_format", invalidImage)
	found.low = part.Detail == "low"
	return found
}

// readImageHeader returns the size and the format of an image without decoding its pixels. Like OpenAI, readImageHeader
// ignores the media type that the client declared.
func readImageHeader(data []byte) (Image, error) {
	if config, format, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		if config.Width < 1 || config.Height < 1 {
			return Image{}, errors.New("image: no pixels")
		}
		return Image{Width: config.Width, Height: config.Height, Type: format, Bytes: len(data)}, nil
	}
	width, height, err := webpSize(data)
	if err != nil {
		return Image{}, err
	}
	return Image{Width: width, Height: height, Type: "webp", Bytes: len(data)}, nil
}

// webpSize reads the size of a WebP image from its first chunk.
// https://developers.google.com/speed/webp/docs/riff_container
func webpSize(data []byte) (width, height int, err error) {
	if len(data) < 30 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return 0, 0, errors.New("image: unknown format")
	}
	body := data[20:] // after RIFF, its size, WEBP, the chunk's name and its size
	switch string(data[12:16]) {
	case "VP8 ": // lossy: a frame tag, a start code, then 14 bits each for the width and the height
		if string(body[3:6]) != "\x9d\x01\x2a" {
			break
		}
		width, height = (int(body[6])|int(body[7])<<8)&0x3fff, (int(body[8])|int(body[9])<<8)&0x3fff
	case "VP8L": // lossless: a signature, then 14 bits each for the width and the height, minus one
		if body[0] != 0x2f {
			break
		}
		bits := uint32(body[1]) | uint32(body[2])<<8 | uint32(body[3])<<16 | uint32(body[4])<<24
		width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X": // extended: flags, then 24 bits each for the width and the height, minus one
		width = (int(body[4]) | int(body[5])<<8 | int(body[6])<<16) + 1
		height = (int(body[7]) | int(body[8])<<8 | int(body[9])<<16) + 1
	}
	if width < 1 || height < 1 {
		return 0, 0, errors.New("image: broken webp header")
	}
	return width, height, nil
}

// tokens returns the number of tokens that an image costs. OpenAI scales the image down to fit into 2048 by 2048
// pixels, and then until its shorter side has at most 768 pixels. Each tile of 512 by 512 pixels costs the same number
// of tokens. https://platform.openai.com/docs/guides/images-vision#calculating-costs
func (m Image) tokens() int {
	const base, perTile = 85, 170
	if m.low {
		return base
	}
	w, h := float64(m.Width), float64(m.Height)
	scale := min(1, 2048/max(w, h))
	scale = min(scale, 768/min(w, h))
	tiles := math.Ceil(math.Max(1, w*scale)/512) * math.Ceil(math.Max(1, h*scale)/512)
	return base + perTile*int(tiles)
}

// listImages returns the answer to the question "images:".
func listImages(images []Image) string {
	if len(images) == 0 {
		return "There is no image in this message."
	}
	lines := make([]string, len(images))
	for i, m := range images {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}
