package discord

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/gif"  // Registers the format.
	_ "image/jpeg" // Registers the format.
	_ "image/png"  // Registers the format.
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// linkLifetime is how long the link to a file of a message is valid. Source:
// https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
const linkLifetime = 24 * time.Hour

// Attachment is a file that a message contains.
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"file_name"`
	// ContentType is the content type that the sender of the file stated, or "".
	ContentType string `json:"content_type,omitempty"`
	Description string `json:"description,omitempty"`
	// Size is the size in bytes that messages report to clients.
	Size int `json:"size"`
	// Width and Height are the size of a picture in pixels, or 0 if the file is not a picture.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
	// Content is not a copy but the server's own slice, so the caller must not change it.
	Content []byte `json:"-"`
}

type wireAttachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	Description string `json:"description,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Size        int    `json:"size"`
	URL         string `json:"url"`
	ProxyURL    string `json:"proxy_url"`
	Width       int    `json:"width,omitempty"`
	Height      int    `json:"height,omitempty"`
}

// storedFile is a file that clients can download.
type storedFile struct {
	Attachment
	path string
}

// store stores the files of a message.
func (s *Server) store(now time.Time, c *channel, files []newFile) []Attachment {
	var list []Attachment
	for _, f := range files {
		a := Attachment{
			ID: s.ids.next(now), Name: fileName(f.Name), ContentType: f.Type, Description: f.description,
			Size: len(f.Data), Content: f.Data,
		}
		if f.Type == "application/octet-stream" || f.Type == "" {
			a.ContentType = http.DetectContentType(f.Data)
		}
		if config, _, err := image.DecodeConfig(bytes.NewReader(f.Data)); err == nil {
			a.Width, a.Height = config.Width, config.Height
		}
		s.files[a.ID] = storedFile{a, "/attachments/" + c.info.ID + "/" + a.ID + "/" + url.PathEscape(a.Name)}
		list = append(list, a)
	}
	return list
}

// fileName returns a file name with the changes that Discord makes to names.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '_'
		case r < ' ', strings.ContainsRune(`/\:*?"<>|`, r):
			return -1
		}
		return r
	}, name)
	return cmp.Or(name, "unknown")
}

func (s *Server) wireAttachment(_ *Message, a Attachment) wireAttachment {
	now := time.Now()
	link := fmt.Sprintf("%s%s?ex=%x&is=%x&hm=%s&", s.base, s.files[a.ID].path, now.Add(linkLifetime).Unix(), now.Unix(), bucketHash(a.ID))
	return wireAttachment{
		ID: a.ID, Filename: a.Name, Description: a.Description, ContentType: a.ContentType, Size: a.Size,
		URL: link, ProxyURL: link, Width: a.Width, Height: a.Height,
	}
}

// download answers GET /attachments/…. A client needs no token, only a link that has not expired.
func (s *Server) download(r *request) any {
	f, ok := s.files[r.param("attachment")]
	ends, err := strconv.ParseInt(r.query.Get("ex"), 16, 64)
	if !ok || err != nil || r.query.Get("hm") != bucketHash(f.ID) || r.now.After(time.Unix(ends, 0)) {
		return rig.Answer{
			Status: http.StatusNotFound, ContentType: "text/plain;charset=UTF-8", Body: []byte("This content is no longer available."),
		}
	}
	return rig.Answer{Status: http.StatusOK, ContentType: cmp.Or(f.ContentType, "application/octet-stream"), Body: f.Content}
}
