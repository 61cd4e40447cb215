package telegram

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"telex/standin/rig"
)

const (
	// maxDownload is the maximum size in bytes of a file that a bot can download. Source:
	// https://core.telegram.org/bots/api#getfile
	maxDownload = 20 << 20
	// linkLifetime is how long a link to a file is valid. Telegram guarantees that a link is valid for at least an hour.
	// The stand-in's links expire exactly after linkLifetime.
	linkLifetime = time.Hour
	// downloadMethod is the method name of downloads in records and faults.
	downloadMethod = "file"
)

// storedFile is a file that the bot can download by its file_id.
type storedFile struct {
	folder, extension string
	data              []byte
	size              int64 // the size that the stand-in reports to the bot; 0: none
	silent            bool  // the headers of the download do not contain the size
	path              string
	until             time.Time // when the link to the file expires
}

// getFile creates a link to a file.
func (s *Server) getFile(r *request) any {
	id := r.text("file_id")
	f := s.files[id]
	badRequestIf(id == "", "file_id not specified")
	badRequestIf(f == nil, "invalid file_id")
	badRequestIf(f.size > maxDownload, "file is too big")
	badRequestIf(len(f.data) == 0, "wrong file_id or the file is temporarily unavailable")
	if !r.now.Before(f.until) {
		delete(s.links, f.path)
		s.nextLink++
		f.path = fmt.Sprintf("%sfile_%d.%s", f.folder, s.nextLink, f.extension)
		s.links[f.path] = f
	}
	f.until = r.now.Add(linkLifetime)
	return struct {
		FileID       string `json:"file_id"`
		FileUniqueID string `json:"file_unique_id"`
		FileSize     int64  `json:"file_size,omitempty"`
		FilePath     string `json:"file_path"`
	}{id, "u-" + id, f.size, f.path}
}

// serveDownload answers /file/bot<token>/<file_path>.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	if token != s.Token() || r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.Respond(w, r, noFile().answer(), cut)
		return
	}
	call := &Call{Call: rig.Call{At: time.Now(), Method: downloadMethod}, Params: map[string]string{"file_path": path}}
	s.Answer(w, r, call, cut, nil, func() rig.Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.links[path]
		if f == nil || !time.Now().Before(f.until) {
			return call.answer(nil, noFile())
		}
		return call.answer(f, nil)
	})
}

func noFile() *apiError { return &apiError{code: http.StatusNotFound, description: "Not Found"} }

// answer returns the response that contains the complete file.
func (f *storedFile) answer() rig.Answer {
	return rig.Answer{Status: http.StatusOK, ContentType: "application/octet-stream", Body: f.data, Unsized: f.silent}
}
