package telegram

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // registers the format
	"image/jpeg"
	_ "image/png" // registers the format
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// Attachment is a file that a person sends.
type Attachment struct {
	// Media is photo, document, voice, audio, video or sticker.
	Media    string `json:"media"`
	FileName string `json:"file_name"`
	// MimeType is the content type that the person's client states.
	MimeType string `json:"mime_type"`
	// Content is the content of the file, as base64 in JSON. Without Content, the bot can't download the file.
	Content []byte `json:"content"`
	// FileSize is the size in bytes that the stand-in reports to the bot. A test may set a wrong size on purpose. 0 means
	// the length of Content. -1 means that neither the message nor the headers of the download contain a size.
	FileSize int64 `json:"file_size"`
	// Width and Height are in pixels. 0 means the size of the picture in Content, or a usual size if Content is not
	// a picture.
	Width  int `json:"width"`
	Height int `json:"height"`
	// Duration is in seconds; 0 means 3.
	Duration int `json:"duration"`
}

// Forward is the origin of a forwarded message: a person with an id, a person whose id is hidden and who has only a
// name, or a channel.
type Forward struct {
	User      int64  `json:"user,omitempty"`
	Name      string `json:"name,omitempty"`    // name of the person or the channel
	Channel   int64  `json:"channel,omitempty"` // the channel's id
	MessageID int    `json:"message_id,omitempty"`
}

// maxThumbPixels is the maximum number of pixels of a photo for which the server makes a thumbnail.
const maxThumbPixels = 40_000_000

// parsedFile is an attachment with the fields that the server derived from its content.
type parsedFile struct {
	Attachment
	thumb *thumbnail
}

// thumbnail is a smaller copy of a photo.
type thumbnail struct {
	data          []byte
	width, height int
}

// parsedIncoming is a validated message from a person.
type parsedIncoming struct {
	text     formatted
	files    []parsedFile // empty for a text; several for an album
	external parsedFile   // if this message replies to a message in another chat: the file of that message; else Media is ""
}

// parse validates a person's message and inspects its files.
func (in Incoming) parse() (parsedIncoming, error) {
	var said parsedIncoming
	if _, refused := rig.Run[apiError](func() any { said.text = fixText(in.Text, in.Entities); return nil }); refused != nil {
		return parsedIncoming{}, errors.New(refused.description)
	}
	if x := in.External; x != nil && x.Media != "" {
		if err := x.check(false, x.Media); err != nil {
			return parsedIncoming{}, err
		}
		said.external = x.inspect()
	}
	list := in.Album
	switch {
	case len(list) == 0 && in.Media == "":
		if len(in.Content) > 0 {
			return parsedIncoming{}, errors.New("content without media")
		}
		return said, nil
	case len(list) == 0:
		list = []Attachment{in.Attachment}
	case in.Media != "" || in.EditOf != 0:
		return parsedIncoming{}, errors.New("an album has its media in its items, and is new")
	case len(list) < 2 || len(list) > 10: // https://core.telegram.org/bots/api#sendmediagroup
		return parsedIncoming{}, fmt.Errorf("an album has 2 to 10 items, not %d", len(list))
	}
	for _, a := range list {
		if err := a.check(len(in.Album) > 0, list[0].Media); err != nil {
			return parsedIncoming{}, err
		}
		said.files = append(said.files, a.inspect())
	}
	if in.Media == "sticker" && said.text.text != "" {
		return parsedIncoming{}, errors.New("a sticker has no caption")
	}
	return said, nil
}

// check returns an error if an attachment is invalid. An album consists of photos and videos, or only of documents, or
// only of audio files; first is the kind of its first file.
func (a Attachment) check(album bool, first string) error {
	visual := func(media string) bool { return media == "photo" || media == "video" }
	switch a.Media {
	case "photo", "document", "voice", "audio", "video", "sticker":
	default:
		return fmt.Errorf("unknown media %q", a.Media)
	}
	switch {
	case album && (a.Media == "voice" || a.Media == "sticker"):
		return fmt.Errorf("an album can't hold a %s", a.Media)
	case album && a.Media != first && (!visual(a.Media) || !visual(first)):
		return fmt.Errorf("an album can't hold a %s and a %s", first, a.Media)
	case a.FileSize < -1 || a.Width < 0 || a.Height < 0 || a.Duration < 0:
		return fmt.Errorf("%s: negative number", a.Media)
	}
	return nil
}

// inspect fills in the size and the dimensions that the test has left out, and makes the thumbnail of a photo.
func (a Attachment) inspect() parsedFile {
	f := parsedFile{Attachment: a}
	switch f.FileSize {
	case 0:
		f.FileSize = int64(len(a.Content))
	case -1:
		f.FileSize = 0
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(a.Content))
	if err != nil {
		return f
	}
	f.Width, f.Height = cmp.Or(f.Width, config.Width), cmp.Or(f.Height, config.Height)
	if a.Media == "photo" && config.Width*config.Height <= maxThumbPixels {
		f.thumb = makeThumbnail(a.Content)
	}
	return f
}

// makeThumbnail returns a smaller copy of an image, with 90 pixels on the longer side. makeThumbnail returns nil if the
// image is invalid or already that small.
func makeThumbnail(content []byte) *thumbnail {
	const side = 90
	full, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	from := full.Bounds()
	longer := max(from.Dx(), from.Dy())
	if longer <= side {
		return nil
	}
	small := image.NewRGBA(image.Rect(0, 0, max(1, from.Dx()*side/longer), max(1, from.Dy()*side/longer)))
	to := small.Bounds()
	for y := range to.Dy() {
		for x := range to.Dx() {
			small.Set(x, y, full.At(from.Min.X+x*from.Dx()/to.Dx(), from.Min.Y+y*from.Dy()/to.Dy()))
		}
	}
	var b bytes.Buffer
	if jpeg.Encode(&b, small, nil) != nil {
		return nil
	}
	return &thumbnail{data: b.Bytes(), width: to.Dx(), height: to.Dy()}
}

// addTo adds the file to a message.
func (f parsedFile) addTo(m *Message) {
	m.Media, m.FileName, m.MimeType = f.Media, f.FileName, f.MimeType
	m.File, m.FileSize, m.thumb = f.Content, f.FileSize, f.thumb
	m.Width, m.Height, m.Duration = f.Width, f.Height, f.Duration
}

// fileID returns the id of the message's file.
func (m *Message) fileID() string { return fmt.Sprintf("%s-%d-%d", m.Media, m.Chat, m.ID) }

// wireMedia returns the message's file in the form of the Bot API.
func (m *Message) wireMedia() (w wireMedia) {
	f := &wireFile{
		FileID: m.fileID(), FileUniqueID: "u-" + m.fileID(), FileSize: m.FileSize, FileName: m.FileName, MimeType: m.MimeType,
	}
	switch m.Media {
	case "photo":
		f.Width, f.Height = cmp.Or(m.Width, 1280), cmp.Or(m.Height, 720)
		if t := m.thumb; t != nil {
			w.Photo = append(w.Photo, wireFile{
				FileID: f.FileID + "-s", FileUniqueID: f.FileUniqueID + "-s", FileSize: int64(len(t.data)), Width: t.width, Height: t.height,
			})
		}
		f.FileName, f.MimeType = "", ""
		w.Photo = append(w.Photo, *f)
	case "document":
		w.Document = f
	case "voice":
		f.Duration, f.MimeType, f.FileName = cmp.Or(m.Duration, 3), cmp.Or(m.MimeType, "audio/ogg"), ""
		w.Voice = f
	case "audio":
		f.Duration, f.MimeType = cmp.Or(m.Duration, 3), cmp.Or(m.MimeType, "audio/mpeg")
		w.Audio = f
	case "video":
		f.Duration, f.MimeType = cmp.Or(m.Duration, 3), cmp.Or(m.MimeType, "video/mp4")
		f.Width, f.Height = cmp.Or(m.Width, 640), cmp.Or(m.Height, 360)
		w.Video = f
	case "sticker":
		f.FileName, f.MimeType = "", ""
		f.Width, f.Height = cmp.Or(m.Width, 512), cmp.Or(m.Height, 512)
		w.Sticker = &wireSticker{wireFile: *f, Type: "regular", Emoji: "👍"}
	}
	return w
}

// wireOrigin returns the origin of a forwarded message in the form of the Bot API, or nil if the message was not
// forwarded. Source: https://core.telegram.org/bots/api#messageorigin
func (m *Message) wireOrigin() *wireOrigin {
	f := m.Forward
	if f == nil {
		return nil
	}
	o := &wireOrigin{Type: "hidden_user", Date: m.Versions[0].At.Add(-time.Hour).Unix(), SenderUserName: f.Name}
	switch {
	case f.Channel != 0:
		o.Type, o.SenderUserName = "channel", ""
		o.Chat, o.MessageID = &Chat{ID: f.Channel, Type: Channel, Title: cmp.Or(f.Name, "Channel")}, cmp.Or(f.MessageID, 1)
	case f.User != 0:
		o.Type, o.SenderUserName = "user", ""
		o.SenderUser = &User{ID: f.User, FirstName: cmp.Or(f.Name, "Person "+strconv.FormatInt(f.User, 10))}
	}
	return o
}

// storeFile stores the message's files, so that the bot can download them with getFile.
func (s *Server) storeFile(m *Message) {
	if m.Media == "" {
		return
	}
	kind := map[string]string{
		"photo": "photos/ jpg", "document": "documents/ bin", "voice": "voice/ oga", "audio": "music/ mp3", "video": "videos/ mp4",
		"sticker": "stickers/ webp",
	}[m.Media]
	folder, extension, _ := strings.Cut(kind, " ")
	if i := strings.LastIndexByte(m.FileName, '.'); i > 0 && m.Media != "photo" {
		extension = cmp.Or(cleanNamePart(m.FileName[i+1:], 20), extension)
	}
	s.files[m.fileID()] = &storedFile{
		folder: folder, extension: extension, data: m.File, size: m.FileSize, silent: m.FileSize == 0,
	}
	if m.thumb != nil {
		s.files[m.fileID()+"-s"] = &storedFile{
			folder: folder, extension: extension, data: m.thumb.data, size: int64(len(m.thumb.data)),
		}
	}
}
