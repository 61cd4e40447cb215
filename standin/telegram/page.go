package telegram

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var pageFiles embed.FS

// servePage serves the chat page. The page loads nothing from other servers. The page's Content-Security-Policy makes
// the browser enforce this rule.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	http.FileServerFS(files).ServeHTTP(w, r)
}
