package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

// File is a file that a message contains.
type File struct {
	ID    string `json:"id"`
	Name  string `json:"name"`            // the file name that clients use for downloads
	Title string `json:"title,omitempty"` // the title that clients show; empty: Name
	Mime  string `json:"mimetype"`
	Size  int    `json:"size"`
	// Content is not a copy but the server's own slice, so the caller must not change it. The control /control/file
	// returns this content.
	Content []byte `json:"-"`

	user    string
	created time.Time
}

// storedFile is a file that the server has stored, or whose upload is not complete yet.
type storedFile struct {
	File
	length   int    // the size in bytes that the app stated before the upload
	secret   string // the secret part of the upload URL
	received bool
	complete bool
}

// wireFile returns a file in the form of events and methods. Source:
// https://docs.slack.dev/reference/objects/file-object
func (s *Server) wireFile(f File) object {
	kind := strings.TrimPrefix(path.Ext(f.Name), ".")
	link := s.base + downloadPath + TeamID + "-" + f.ID + "/" + path.Base(f.Name)
	return object{
		"id": f.ID, "created": f.created.Unix(), "timestamp": f.created.Unix(), "name": f.Name, "title": cmp.Or(f.Title, f.Name),
		"mimetype": f.Mime, "filetype": cmp.Or(kind, "binary"), "user": f.user, "size": f.Size, "mode": "hosted",
		"is_external": false, "is_public": false, "file_access": "visible", "url_private": link,
		"url_private_download": link, "permalink": "https://" + teamDomain + ".slack.com/files/" + f.user + "/" + f.ID,
	}
}

// storeFile stores a file under a new id.
func (s *Server) storeFile(f File) File {
	f.ID = cmp.Or(f.ID, s.nextID("F"))
	f.Mime = cmp.Or(f.Mime, cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), "application/octet-stream"))
	f.Mime, _, _ = strings.Cut(f.Mime, ";")
	f.Size = max(0, cmp.Or(f.Size, len(f.Content)))
	f.created = time.Now()
	s.files[f.ID] = &storedFile{File: f, received: true, complete: true}
	return f
}

// uploadURL implements https://docs.slack.dev/reference/methods/files.getUploadURLExternal.
func (s *Server) uploadURL(r *request) any {
	length := r.integer("length", 0)
	failIf(r.text("filename") == "" || length < 1, "invalid_arguments")
	f := &storedFile{File: File{ID: s.nextID("F"), Name: r.text("filename"), user: BotUser}, length: length, secret: s.uuid()}
	s.files[f.ID] = f
	return object{"upload_url": s.base + uploadPath + f.ID + "/" + f.secret, "file_id": f.ID}
}

// receiveUpload stores the content of an uploaded file, which is the request's body or a file in a form. The response
// to an upload is plain text.
func (s *Server) receiveUpload(r *request) any {
	id, secret, _ := strings.Cut(strings.TrimPrefix(r.http.URL.Path, uploadPath), "/")
	f := s.files[id]
	rig.RefuseIf(f == nil || f.secret == "" || f.secret != secret || f.received, &apiError{status: http.StatusNotFound, code: "file_not_found"})
	rig.RefuseIf(len(r.file) != f.length, &apiError{status: http.StatusBadRequest, code: "length_mismatch"})
	f.Content, f.Size, f.received = r.file, len(r.file), true
	return rig.Text(http.StatusOK, fmt.Sprintf("OK - %d", f.Size))
}

// completeUpload implements https://docs.slack.dev/reference/methods/files.completeUploadExternal.
func (s *Server) completeUpload(r *request) any {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	failIf(json.Unmarshal([]byte(r.text("files")), &list) != nil || len(list) == 0, "invalid_arguments")
	var files []File
	for _, one := range list {
		f := s.files[one.ID]
		failIf(f == nil || !f.received || f.complete, "file_not_found")
		f.Mime, f.created = cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), "application/octet-stream"), r.now
		f.Mime, _, _ = strings.Cut(f.Mime, ";")
		f.Title = one.Title
		files = append(files, f.File)
	}
	if r.text("channel_id") != "" {
		s.share(r, files)
	}
	told := make([]object, len(files))
	for i, f := range files {
		s.files[f.ID].complete = true
		told[i] = s.wireFile(f)
	}
	return object{"files": told}
}

// share posts files as a message of the bot.
func (s *Server) share(r *request, files []File) {
	c := s.writableChannel(r, "channel_id")
	thread := s.thread(c, r)
	comment := r.text("initial_comment")
	failIf(units(comment) > maxText, "msg_too_long")
	m := &Message{ThreadTS: thread, User: BotUser, BotID: BotID, FromBot: true, Subtype: "file_share", Files: files}
	s.add(c, m, s.complete(Version{Method: r.call.Method, Text: normalize(comment)}))
	r.call.TS = m.TS
	s.stats.Messages++
}

// fileInfo implements https://docs.slack.dev/reference/methods/files.info.
func (s *Server) fileInfo(r *request) any {
	f := s.files[r.text("file")]
	failIf(f == nil || !f.complete, "file_not_found")
	return object{"file": s.wireFile(f.File)}
}

// deleteFile implements https://docs.slack.dev/reference/methods/files.delete.
func (s *Server) deleteFile(r *request) any {
	f := s.files[r.text("file")]
	failIf(f == nil || !f.complete, "file_not_found")
	failIf(f.user != BotUser, "cant_delete_file")
	s.dropFile(f.ID, "bot")
	s.stats.Deletes++
	return object{}
}

// DeleteFile deletes a file as a person. If a message of the bot shows the file, DeleteFile also deletes the message. A
// person's message with the file stays visible.
func (s *Server) DeleteFile(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[id] == nil {
		return false
	}
	s.dropFile(id, "person")
	return true
}

func (s *Server) dropFile(id, by string) {
	delete(s.files, id)
	for _, c := range s.channels {
		for _, m := range c.messages {
			if m.FromBot && m.Alive() && slices.ContainsFunc(m.Files, func(f File) bool { return f.ID == id }) {
				s.remove(c, m, by)
			}
		}
	}
}

// download serves url_private, the link to a file. If the token may not read files, download responds like Slack with a
// sign-in page and status 200.
func (s *Server) download(r *request) any {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.http.URL.Path, downloadPath), "/")
	if aerr := s.authorize(r, method{scopes: []string{"files:read"}}); aerr != nil {
		r.call.Error = aerr.code
		return rig.Answer{
			Status: http.StatusOK, ContentType: "text/html; charset=utf-8",
			Body: []byte("<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"),
		}
	}
	f := s.files[strings.TrimPrefix(name, TeamID+"-")]
	rig.RefuseIf(f == nil || !f.complete, &apiError{status: http.StatusNotFound, code: "file_not_found"})
	return rig.Answer{Status: http.StatusOK, ContentType: f.Mime, Body: f.Content}
}
