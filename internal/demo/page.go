package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed page
var files embed.FS

const (
	// drawEvery is the minimum time between two updates of the page.
	drawEvery = 120 * time.Millisecond
	// tickEvery is the interval at which the page is updated even if nothing happens. For example, the page shows durations, which
	// change every second.
	tickEvery = time.Second
	// maxAsk is the maximum size of a question with its file, in bytes.
	maxAsk = 20 << 20
)

// contentPolicy allows the page to load only files of this server.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page is the server of the page.
type page struct {
	*demo
	templates *template.Template
}

// servePage starts the server of the page. Below /telegram/, the server also serves the page of Telegram's stand-in. The page
// of the stand-in shows only the Telegram chat, but on that page, a person can also reply, edit messages and use groups.
func (d *demo) servePage(ctx context.Context) (url string, err error) {
	p := &page{demo: d}
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"seconds": func(t time.Duration) string { return fmt.Sprintf("%.0f s", max(1, t.Seconds())) },
		"clock":   func(t time.Time) string { return t.Local().Format("15:04") },
		"ms":      func(t time.Duration) int64 { return t.Milliseconds() },
		"size":    func(n int) string { return fmt.Sprintf("%d KB", (n+1023)/1024) },
	}).ParseFS(files, "page/*.html")
	if err != nil {
		return "", fmt.Errorf("templates of the demo: %w", err)
	}
	assets, err := fs.Sub(files, "page/assets")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.index)
	mux.HandleFunc("GET /events", p.events)
	mux.HandleFunc("GET /file", p.file)
	mux.HandleFunc("POST /ask", p.act(p.ask))
	mux.HandleFunc("POST /press", p.act(p.press))
	mux.HandleFunc("POST /switch", p.act(p.flip))
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(assets)))
	safe := p.safely(mux)
	whole := http.NewServeMux()
	whole.Handle("/", safe)
	whole.Handle("/telegram/", p.onlyLocal(http.StripPrefix("/telegram", d.telegram))) // the stand-in itself sets security headers
	address := d.o.Listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	server := &http.Server{Handler: whole, ReadHeaderTimeout: 10 * time.Second}
	url, err = d.listenAt(ctx, server, address)
	if err != nil && d.o.Listen != "" {
		err = fmt.Errorf("%w; --listen takes another address", err)
	}
	return url, err
}

// onlyLocal refuses requests for a foreign host name. Without this check, a page of another site could use DNS
// rebinding to send requests to this server.
func (p *page) onlyLocal(next http.Handler) http.Handler {
	host, _, err := net.SplitHostPort(p.o.Listen)
	own := err == nil && host != ""
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = r.Host
		}
		if ip := net.ParseIP(strings.Trim(name, "[]")); name != "localhost" && ip == nil && (!own || name != host) {
			http.Error(w, "use the IP address of the demo, or localhost", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// safely sets the security headers of all responses and refuses requests from other sites.
func (p *page) safely(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return p.onlyLocal(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	}))
}

// index serves the whole page.
func (p *page) index(w http.ResponseWriter, _ *http.Request) {
	s := p.look(time.Now())
	list, err := p.fragments(s)
	var out strings.Builder
	if err == nil {
		drawn := make(map[string]template.HTML)
		for _, f := range list {
			key := f.ID
			if f.In != "" {
				key = f.In
			}
			drawn[key] += template.HTML(f.HTML) //nolint:gosec // the HTML comes from this package's templates
		}
		err = p.templates.ExecuteTemplate(&out, "index", map[string]any{
			"State": s, "Part": drawn, "Latencies": latencies(),
			"Modes": map[mode]string{answers: "answers", refuses: "refuses (503)", breaks: "breaks off in the middle"},
		})
	}
	if err != nil {
		p.o.Log.Error("the page can't be drawn", slog.Any("error", err))
		http.Error(w, "the page can't be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, out.String()) // the client may have disconnected
}

// choice is an option of an HTML select element.
type choice struct{ Value, Name string }

// latencies returns the delays that a person can add to each call.
func latencies() []choice {
	return []choice{{"0s", "its usual time"}, {"300ms", "0.3 s more"}, {"1s", "1 s more"}, {"3s", "3 s more"}}
}

// update is the data of one event that is sent to the browser.
type update struct {
	All   bool       `json:"all,omitempty"` // Parts contains all messages, so the browser removes messages that are not among them
	Parts []fragment `json:"parts,omitempty"`
	Gone  []string   `json:"gone,omitempty"`
}

// events sends each part of the page to the browser when the part has changed.
func (p *page) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	sent := make(map[string]string)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		changed := p.pulse.changed()
		list, err := p.fragments(p.look(time.Now()))
		if err != nil {
			p.o.Log.Error("the page can't be drawn", slog.Any("error", err))
			return
		}
		u := update{All: first}
		here := make(map[string]bool)
		for _, f := range list {
			if here[f.ID] = true; sent[f.ID] != f.HTML {
				sent[f.ID] = f.HTML
				u.Parts = append(u.Parts, f)
			}
		}
		for id := range sent {
			if !here[id] {
				delete(sent, id)
				u.Gone = append(u.Gone, id)
			}
		}
		line := ": nothing new\n\n"
		if len(u.Parts)+len(u.Gone) > 0 {
			data, err := json.Marshal(u)
			if err != nil {
				return
			}
			line = "data: " + string(data) + "\n\n"
		}
		if _, err := io.WriteString(w, line); err != nil || out.Flush() != nil {
			return
		}
		rest := time.NewTimer(drawEvery)
		select {
		case <-rest.C:
		case <-r.Context().Done():
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// act calls the function do for a submitted HTML form. If the browser runs no JavaScript, act makes it load the page again
// after the call.
func (p *page) act(do func(r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxAsk)
		if err := r.ParseMultipartForm(maxAsk); err != nil && !errors.Is(err, http.ErrNotMultipart) {
			http.Error(w, "the question is too large: the demo takes up to 20 MB", http.StatusBadRequest)
			return
		}
		err := do(r)
		p.pulse.beat()
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case strings.Contains(r.Header.Get("Accept"), "text/html"):
			http.Redirect(w, r, "/", http.StatusSeeOther)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

// ask sends a question to the chosen places.
func (p *page) ask(r *http.Request) error {
	q := question{Text: strings.TrimSpace(r.PostFormValue("text"))}
	file, err := attached(r)
	if err != nil {
		return err
	}
	if q.File = file; q.Text == "" && file == nil {
		return errors.New("write a question first")
	}
	to := r.PostForm["to"]
	var failed []error
	asked := 0
	for _, c := range p.columns {
		if !slices.Contains(to, c.Key) {
			continue
		}
		if c.Key == "api" && strings.HasPrefix(q.Text, "/") { // the program at the API can't use commands
			if q.Text == "/stop" {
				p.program.stop()
			}
			continue
		}
		if err := c.say(q); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.Name, err))
			continue
		}
		asked++
	}
	if asked+len(failed) == 0 {
		return errors.New("choose where to ask")
	}
	p.mu.Lock()
	p.asked += asked
	p.mu.Unlock()
	return errors.Join(failed...)
}

// attached returns the file in a form: one of the samples, or a file that the person uploaded.
func attached(r *http.Request) (*attachment, error) {
	if name := r.PostFormValue("sample"); name != "" {
		content, err := files.ReadFile("page/samples/" + filepath.Base(name))
		if err != nil {
			return nil, none("sample", name)
		}
		return &attachment{Name: filepath.Base(name), Mime: mime.TypeByExtension(filepath.Ext(name)), Content: content}, nil
	}
	f, head, err := r.FormFile("file")
	if err != nil || head.Size == 0 {
		return nil, nil //nolint:nilnil // the form has no file
	}
	defer f.Close() //nolint:errcheck // the file was read, so an error of Close does not matter
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(head.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/octet-stream"
	}
	return &attachment{Name: head.Filename, Mime: kind, Content: content}, nil
}

// column returns the column whose name a form contains.
func (p *page) column(r *http.Request) (*column, error) {
	key := r.FormValue("column")
	for _, c := range p.columns {
		if c.Key == key {
			return c, nil
		}
	}
	return nil, none("column", key)
}

// press presses a button below a message.
func (p *page) press(r *http.Request) error {
	c, err := p.column(r)
	if err != nil {
		return err
	}
	return c.press(r.PostFormValue("message"), r.PostFormValue("button"))
}

// flip handles a switch that causes or ends a fault.
func (p *page) flip(r *http.Request) error {
	value, now := r.PostFormValue("value"), time.Now()
	switch what := r.PostFormValue("what"); what {
	case "kill":
		p.daemon.kill()
	case "model":
		return p.gates[0].set(mode(value))
	case "latency":
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > 10*time.Second {
			return fmt.Errorf("latency %q: 0s to 10s expected", value)
		}
		for _, c := range p.columns {
			c.trouble(now, func(t *disturbance) { t.Latency = d })
		}
	case "storm", "outage":
		c, err := p.column(r)
		if err != nil {
			return err
		}
		c.trouble(now, func(t *disturbance) {
			if what == "storm" {
				t.Storm = later(now, t.Storm, stormTime)
			} else {
				t.Outage = later(now, t.Outage, outageTime)
			}
		})
	default:
		return none("switch", what)
	}
	return nil
}

// later returns the time until which a fault lasts if a switch turns the fault on now. The parameter lasts is the fault's
// duration. If the fault is already on, the switch turns it off, and later returns the zero time.
func later(now, until time.Time, lasts time.Duration) time.Time {
	if until.After(now) {
		return time.Time{}
	}
	return now.Add(lasts)
}

// file serves a file that somebody sent. The response makes browsers show pictures and download other files.
func (p *page) file(w http.ResponseWriter, r *http.Request) {
	c, err := p.column(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	_, content, err := c.file(r.FormValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	kind := http.DetectContentType(content)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		kind = "application/octet-stream"
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content) // the client may have disconnected
}
