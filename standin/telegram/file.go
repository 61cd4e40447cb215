package telegram

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // registers the format
	_ "image/png"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"telex/standin/rig"
)

// Limits of files. Source: https://core.telegram.org/bots/api#senddocument
const (
	// maxCaption is the maximum length of a caption in UTF-16 units.
	maxCaption = 1024
	// maxUpload is the maximum size of a file that a bot may send, in bytes.
	maxUpload = 50 << 20
	// maxPhoto is the maximum size of a photo in bytes. maxPhotoSides is the maximum sum of a photo's width and height in
	// pixels. maxPhotoRatio is the maximum ratio of the longer side to the shorter side. Source:
	// https://core.telegram.org/bots/api#sendphoto
	maxPhoto      = 10 << 20
	maxPhotoSides = 10_000
	maxPhotoRatio = 20
)

// checkPhoto refuses the call if Telegram would not accept the file as a photo.
func checkPhoto(data []byte) {
	rig.RefuseIf(len(data) > maxPhoto, tooLarge())
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if len(data) > 12 && string(data[8:12]) == "WEBP" {
		return // the stand-in can't read the dimensions of a WebP image
	}
	badRequestIf(err != nil, "IMAGE_PROCESS_FAILED")
	badRequestIf(c.Width+c.Height > maxPhotoSides || c.Width > maxPhotoRatio*c.Height || c.Height > maxPhotoRatio*c.Width, "PHOTO_INVALID_DIMENSIONS")
}

func tooLarge() *apiError {
	return &apiError{code: http.StatusRequestEntityTooLarge, description: "Request Entity Too Large"}
}

// cleanFileName returns a file name as clients show it: the last part of a path, without characters that a file system
// may refuse. cleanFileName shortens long names. Source: clean_filename in
// https://github.com/tdlib/td/blob/master/tdutils/td/utils/filesystem.cpp
func cleanFileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	stem, extension := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		stem, extension = name[:i], name[i+1:]
	}
	stem, extension = cleanNamePart(stem, 60), cleanNamePart(extension, 20)
	switch {
	case extension == "":
		return cmp.Or(stem, "file")
	case stem == "":
		return extension
	}
	return stem + "." + extension
}

func cleanNamePart(part string, most int) string {
	var kept []rune
	for _, r := range part {
		ok := r >= ' ' && r < 0x7F && !strings.ContainsRune("<>:\"/\\|?*&`'", r) || r > 0x7F && (unicode.IsLetter(r) || unicode.IsNumber(r))
		switch {
		case !ok && (unicode.IsMark(r) || unicode.Is(unicode.Cf, r)):
			continue
		case !ok:
			r = ' '
		}
		if len(kept) == 0 && (r == ' ' || r == '.') {
			continue
		}
		if kept = append(kept, r); len(kept) == most {
			break
		}
	}
	return strings.TrimRight(string(kept), " .")
}

// sentFile returns the content of a file that the bot sent.
func (s *Server) sentFile(query url.Values) (contentType string, data []byte, err error) {
	chatID, err := strconv.ParseInt(query.Get("chat"), 10, 64)
	id, idErr := strconv.Atoi(query.Get("message_id"))
	if err = errors.Join(err, idErr); err != nil {
		return "", nil, fmt.Errorf("chat and message_id: numbers expected: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil && c.byID[id] != nil {
		data = c.byID[id].File
	}
	if len(data) == 0 {
		return "", nil, errors.New("no such file")
	}
	return "application/octet-stream", data, nil
}
