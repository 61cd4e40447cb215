package telegram

import (
	"cmp"
	"strings"

	"telex/internal/chat"
)

// attachments lists the attachments of the message m. A location or a poll has no content that telex could fetch. If a
// message contains only a location or a poll, attachments returns one entry without an id, whose name is the kind of
// content. An entry without an id makes the bot tell the person that it can't read the content.
func attachments(m *media, text string) []chat.Attachment {
	var list []chat.Attachment
	add := func(f *mediaFile, name, mediaType string) {
		if f == nil || f.ID == "" {
			return
		}
		mediaType = cmp.Or(f.MediaType, mediaType)
		list = append(list, chat.Attachment{
			Name: cmp.Or(f.Name, name+extension(mediaType)), MediaType: mediaType, Size: max(0, f.Size), ID: f.ID,
		})
	}
	if n := len(m.Photo); n > 0 {
		add(&m.Photo[n-1], "photo", "image/jpeg") // Telegram lists the sizes of a photo in ascending order; photos are JPEG
	}
	if m.Animation == nil {
		add(m.Document, "document", "")
	}
	add(m.Voice, "voice", "audio/ogg")
	add(m.Audio, "audio", "audio/mpeg")
	add(m.Video, "video", "video/mp4")
	add(m.VideoNote, "video", "video/mp4")
	add(m.Animation, "animation", "video/mp4")
	if s := m.Sticker; s != nil {
		add(&s.mediaFile, "sticker", s.mediaType())
	}
	if name := m.kind(); name != "" && text == "" && len(list) == 0 {
		list = append(list, chat.Attachment{Name: name})
	}
	return list
}

// mediaType returns the sticker's media type. Telegram has three formats of stickers.
// https://core.telegram.org/stickers
func (s *sticker) mediaType() string {
	switch {
	case s.Animated:
		return "application/x-tgsticker"
	case s.Video:
		return "video/webm"
	}
	return "image/webp"
}

// extension returns the file extension for a media type that Telegram's apps send without a file name. The name of a
// file that Telegram's apps sent without a name needs an extension, because transcription services choose their decoder
// by the extension.
func extension(mediaType string) string {
	switch strings.ToLower(mediaType) {
	case "image/jpeg":
		return ".jpg"
	case "image/webp":
		return ".webp"
	case "audio/ogg":
		return ".ogg"
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/mp4", "audio/m4a", "audio/x-m4a":
		return ".m4a"
	case "video/mp4":
		return ".mp4"
	case "video/webm":
		return ".webm"
	case "application/x-tgsticker":
		return ".tgs"
	}
	return ""
}

// The method kind returns the kind of unreadable content that a message contains, such as "poll", or "" if the message
// contains no unreadable content.
func (w *unreadable) kind() string {
	for _, t := range []struct {
		name  string
		value any
	}{
		{"place", w.Venue},
		{"location", w.Location},
		{"contact", w.Contact},
		{"poll", w.Poll},
		{"dice", w.Dice},
		{"game", w.Game},
		{"story", w.Story},
		{"checklist", w.Checklist},
		{"paid media", w.PaidMedia},
		{"giveaway", w.Giveaway},
	} {
		if t.value != nil {
			return t.name
		}
	}
	return ""
}
