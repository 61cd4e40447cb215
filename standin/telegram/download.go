package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"telex/standin/host"
)

const (
	// maxDownload is the largest file that a bot may fetch, in bytes.
	// Source: https://core.telegram.org/bots/api#getfile
	maxDownload = 20 << 20
	// linkLife is how long a link is good at least, and here also at most.
	linkLife = time.Hour
	// downloadMethod is the name under which downloads are recorded, and chosen by faults.
	downloadMethod = "file"
	// dripInterval is the time between two pieces of a slow download.
	dripInterval = 100 * time.Millisecond
)

// storedFile is a file that getFile knows.
type storedFile struct {
	folder, extension string
	data              []byte
	size              int64 // as the platform names it; 0 for none.
	silent            bool  // the download doesn't say its length either.
	path              string
	until             time.Time // when the link with that path ends.
}

// getFile makes a link to a file.
func (s *Server) getFile(r *request) (any, *apiError) {
	id := r.text("file_id")
	f := s.files[id]
	switch {
	case id == "":
		return nil, badRequest("file_id not specified")
	case f == nil:
		return nil, badRequest("invalid file_id")
	case f.size > maxDownload:
		return nil, badRequest("file is too big")
	case len(f.data) == 0:
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	}
	if !r.now.Before(f.until) {
		delete(s.links, f.path)
		s.nextLink++
		f.path = fmt.Sprintf("%sfile_%d.%s", f.folder, s.nextLink, f.extension)
		s.links[f.path] = f
	}
	f.until = r.now.Add(linkLife)
	return struct {
		FileID       string `json:"file_id"`
		FileUniqueID string `json:"file_unique_id"`
		FileSize     int64  `json:"file_size,omitempty"`
		FilePath     string `json:"file_path"`
	}{id, "u-" + id, f.size, f.path}, nil
}

// serveDownload answers /file/bot<token>/<file_path>.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	if token != s.opts.Token || r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.respond(w, noFile().answer())
		return
	}
	call := &Call{At: time.Now(), Method: downloadMethod, Params: map[string]string{"file_path": path}, download: true}
	rule := s.record(call)
	a := s.perform(r.Context(), params{values: call.Params}, call, rule, cut)
	if a.status == http.StatusOK && rule != nil {
		a.stream = s.bend(r.Context(), a, rule, cut)
	}
	s.finish(w, call, rule, a, cut)
}

func noFile() *apiError { return &apiError{code: http.StatusNotFound, description: "Not Found"} }

// download finds the file of a link; s.mu is held.
func (s *Server) download(r *request) (any, *apiError) {
	f := s.links[r.text("file_path")]
	if f == nil || !r.now.Before(f.until) {
		return nil, noFile()
	}
	return f, nil
}

// answer is the file in one piece.
func (f *storedFile) answer() answer {
	return answer{status: http.StatusOK, contentType: "application/octet-stream", body: f.data, chunked: f.silent}
}

// errBroken makes the connection break off.
var errBroken = errors.New("connection broken off")

// bend makes a download slow, or breaks it off in the middle, as a fault says; nil for a fault
// of another kind.
func (s *Server) bend(ctx context.Context, a answer, rule *Fault, cut <-chan struct{}) func(http.ResponseWriter) error {
	switch rule.Action {
	case ActCutMiddle:
		return func(w http.ResponseWriter) error {
			a.begin(w)
			if err := a.piece(w, a.body[:len(a.body)/2]); err != nil {
				return err
			}
			return errBroken
		}
	case ActDrip:
		return func(w http.ResponseWriter) error {
			a.begin(w)
			for rest, sent := a.body, 0; len(rest) > 0; {
				sent++
				// Whole bytes, and no drift: what is due by now less what was due before.
				due := rule.Rate*sent/int(time.Second/dripInterval) - rule.Rate*(sent-1)/int(time.Second/dripInterval)
				n := min(due, len(rest))
				if !host.Pause(dripInterval, cut) || ctx.Err() != nil {
					return errBroken
				}
				if err := a.piece(w, rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		}
	}
	return nil
}

// begin writes the headers.
func (a answer) begin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	if !a.chunked {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	w.WriteHeader(a.status)
}

// piece writes a part of the body, so that the client has it when piece returns.
func (a answer) piece(w http.ResponseWriter, part []byte) error {
	controller := http.NewResponseController(w)
	if a.chunked {
		// Else the server would add the length of a small body by itself.
		if err := controller.Flush(); err != nil {
			return fmt.Errorf("flush headers: %w", err)
		}
	}
	if _, err := w.Write(part); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if err := controller.Flush(); err != nil {
		return fmt.Errorf("flush answer: %w", err)
	}
	return nil
}
