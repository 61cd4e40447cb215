package whatsapp

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/standin/rig"
)

// The server keeps uploads of the business for the duration uploadLifetime, and files that people sent for
// webhookLifetime. A link to a file is valid for linkLifetime. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media
const (
	uploadLifetime  = 30 * 24 * time.Hour
	webhookLifetime = 7 * 24 * time.Hour
	linkLifetime    = 5 * time.Minute

	downloadPath = "/whatsapp_business/attachments/"
)

// File is a file in a message.
type File struct {
	ID   string `json:"id"`
	Name string `json:"filename,omitempty"`
	Mime string `json:"mime_type"`
	// SHA256 is the hash of the content in hexadecimal digits.
	SHA256 string `json:"sha256"`
	Size   int    `json:"file_size"`
	// Content is not a copy but the server's own slice, so the caller must not change it. The control /control/file
	// returns this content.
	Content []byte `json:"-"`
}

// media is a stored file. The id of the file is valid until the time in the field expires.
type media struct {
	File
	expires time.Time
	deleted bool
}

func (m *media) usable(now time.Time) bool { return !m.deleted && now.Before(m.expires) }

// mimesOf returns the media types that a kind of media may have. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
func mimesOf(kind string) []string {
	const office = "application/vnd.openxmlformats-officedocument."
	switch kind {
	case "audio":
		return []string{"audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg", "audio/opus"}
	case "image":
		return []string{"image/jpeg", "image/png"}
	case "sticker":
		return []string{"image/webp"}
	case "video":
		return []string{"video/mp4", "video/3gpp"}
	case "document":
		return []string{
			"text/plain", "application/pdf", "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
			office + "wordprocessingml.document", office + "spreadsheetml.sheet", office + "presentationml.presentation",
		}
	}
	return nil
}

// maxSize returns the maximum size of media of a type in bytes. The comment on mimesOf names the source of the maximum
// sizes.
func maxSize(mimeType string) int {
	const mb = 1 << 20
	switch {
	case strings.HasPrefix(mimeType, "audio/"), strings.HasPrefix(mimeType, "video/"):
		return 16 * mb
	case mimeType == "image/webp":
		return 500 << 10
	case strings.HasPrefix(mimeType, "image/"):
		return 5 * mb
	}
	return 100 * mb
}

// uploadable returns all media types that the business can upload.
func uploadable() []string {
	var all []string
	for _, kind := range []string{"audio", "document", "image", "sticker", "video"} {
		all = append(all, mimesOf(kind)...)
	}
	return all
}

// upload implements
// https://developers.facebook.com/documentation/business-messaging/whatsapp/reference/whatsapp-business-phone-number/media-upload-api.
func (s *Server) upload(r *request) any {
	product, given := r.form.Values["messaging_product"]
	checkProduct(product, given)
	for name := range r.form.Values {
		rig.RefuseIf(name != "messaging_product" && name != "type", badParam("Unexpected key %q on the request.", name))
	}
	file, ok := r.form.Files["file"]
	rig.RefuseIf(!ok, badParam("The parameter file is required."))
	rig.RefuseIf(!slices.Contains(uploadable(), file.Type), badParam(
		"Param file must be a file with one of the following types: %s. Received file of type '%s'.", strings.Join(uploadable(), ", "), file.Type))
	failIf(len(file.Data) == 0, CodeMedia, "The file is empty.")
	failIf(len(file.Data) > maxSize(file.Type), CodeMedia, fmt.Sprintf("Media file size too big. Max file size we currently support: %d bytes.", maxSize(file.Type)))
	s.stats.Uploads++
	return object{"id": s.storeFile(File{Name: path.Base(file.Name), Mime: file.Type, Content: file.Data}, r.now.Add(uploadLifetime)).ID}
}

// storeFile stores a file under a new id. The id is valid until the time in the parameter expires.
func (s *Server) storeFile(f File, expires time.Time) *File {
	s.serial++
	f.ID = fmt.Sprintf("1%015d", s.serial)
	f.Mime = cmp.Or(f.Mime, cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), http.DetectContentType(f.Content)))
	sum := sha256.Sum256(f.Content)
	f.SHA256 = hex.EncodeToString(sum[:])
	f.Size = cmp.Or(f.Size, len(f.Content))
	m := &media{File: f, expires: expires}
	s.media[f.ID] = m
	return &m.File
}

// findMedia returns the media whose id is in the path of the call. findMedia refuses the call if no media has this id.
func (s *Server) findMedia(r *request) *media {
	m := s.media[r.id]
	number := r.http.URL.Query().Get("phone_number_id")
	if m == nil || !m.usable(r.now) || number != "" && number != s.opts.PhoneNumberID {
		panic(noObject(strings.ToLower(r.http.Method), r.id))
	}
	return m
}

// lookUp implements
// https://developers.facebook.com/documentation/business-messaging/whatsapp/reference/media/media-api.
func (s *Server) lookUp(r *request) any {
	s.charge(r, s.limiter.account())
	m := s.findMedia(r)
	return object{
		"messaging_product": "whatsapp", "url": s.link(&m.File, r.now), "mime_type": m.Mime, "sha256": m.SHA256,
		"file_size": m.Size, "id": m.ID,
	}
}

func (s *Server) deleteMedia(r *request) any {
	s.charge(r, s.limiter.account())
	s.findMedia(r).deleted = true
	return object{"success": true}
}

// link returns a URL from which clients can download a file for the next five minutes.
func (s *Server) link(f *File, now time.Time) string {
	ends := now.Add(linkLifetime).Unix()
	return fmt.Sprintf("%s%s?mid=%s&ext=%d&hash=%s", s.base, downloadPath, f.ID, ends, linkHash(f.ID, ends))
}

func linkHash(id string, ends int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "stand-in %s %d", id, ends))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// download serves a file. The client needs a valid link and the access token.
func (s *Server) download(r *request) any {
	query := r.http.URL.Query()
	m := s.media[query.Get("mid")]
	ends, err := strconv.ParseInt(query.Get("ext"), 10, 64)
	if m == nil || !m.usable(r.now) || err != nil || query.Get("hash") != linkHash(m.ID, ends) || r.now.Unix() >= ends {
		r.call.Code = http.StatusNotFound
		return rig.Text(http.StatusNotFound, "Not Found")
	}
	return rig.Answer{Status: http.StatusOK, ContentType: m.Mime, Body: m.Content}
}
