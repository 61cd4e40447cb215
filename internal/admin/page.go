package admin

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

// pages are the templates of the HTML pages.
type pages struct {
	templates *template.Template
	assets    fs.FS
}

func newPages() (*pages, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"short": short,
		"ago":   func(t time.Time) string { return span(time.Since(t)) },
		"until": func(t time.Time) string { return span(time.Until(t)) },
		"stamp": func(t time.Time) string { return t.Local().Format("2 Jan 15:04:05") },
		"day":   func(t time.Time) string { return t.Format("Mon 2 Jan") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"plot":  newPlot,
		"join":  func(list []string) string { return strings.Join(list, ", ") },
	}).ParseFS(files, "page/*.html")
	if err != nil {
		return nil, err
	}
	assets, err := fs.Sub(files, "page/assets")
	return &pages{t, assets}, err
}

// view is the data that the templates show.
type view struct {
	Status
	Token bool // a token is configured, so the page has a logout button
	Wrong bool // the login form was sent with a wrong token
}

// routes adds the routes of the HTML pages.
func (s *Server) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !s.allows(r) {
			s.render(w, http.StatusUnauthorized, "login", view{})
			return
		}
		s.render(w, http.StatusOK, "page", s.view(r))
	})
	mux.Handle("GET /events", s.guarded(http.HandlerFunc(s.events)))
	mux.Handle("GET /status.json", s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status(r.Context())) // the client may have disconnected
	})))
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(s.pages.assets)))
}

func (s *Server) view(r *http.Request) view {
	return view{Status: s.Status(r.Context()), Token: *s.token.Load() != ""}
}

// login handles the login form.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.isToken(r.PostFormValue("token")) {
		s.refused.Do(func() { s.Log.Warn("admin login refused", slog.String("from", r.RemoteAddr)) })
		s.render(w, http.StatusUnauthorized, "login", view{Wrong: true})
		return
	}
	http.SetCookie(w, s.cookie(time.Now()))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// render writes a template's output, or an error if the template fails.
func (s *Server) render(w http.ResponseWriter, status int, name string, v view) {
	var page bytes.Buffer
	if err := s.pages.templates.ExecuteTemplate(&page, name, v); err != nil {
		s.Log.Error("the status page can't be drawn", slog.Any("error", err))
		http.Error(w, "the status page can't be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client may have disconnected
}
