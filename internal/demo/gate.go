package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// mode determines what a gate does with the requests to its model.
type mode string

const (
	answers mode = "answers" // the gate lets all requests through
	refuses mode = "refuses" // the gate responds with status 503, like an overloaded provider
	breaks  mode = "breaks"  // the gate cuts each answer off in the middle
)

// breakAfter is the number of bytes of an answer that the gate lets through before it cuts the answer off.
const breakAfter = 96 << 10

// gate is a proxy in front of a model. With a gate, the demo can imitate failures even if a real model answers.
type gate struct {
	proxy *httputil.ReverseProxy

	mu     sync.Mutex
	mode   mode
	counts gateCounts
}

// gateCounts contains the mode of a gate, and figures about its requests.
type gateCounts struct {
	Mode    mode
	Asked   int // number of requests for an answer
	Failed  int // number of requests that the gate refused or cut off
	Writing int // number of answers in progress
}

func newGate(target string) (*gate, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("base URL of the model: %w", err)
	}
	g := &gate{mode: answers}
	g.proxy = &httputil.ReverseProxy{
		FlushInterval:  -1,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: g.shape,
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // the daemon itself logs failed requests
	}
	return g, nil
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		g.proxy.ServeHTTP(w, r)
		return
	}
	if !g.enter() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"message":"The demo has switched this model off.","type":"server_error"}}`)
		return
	}
	defer g.leave()
	// Read the whole request first. If the answer began before the end of the request, the proxy's HTTP client
	// could close its connection and cut the answer off.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.proxy.ServeHTTP(w, r)
}

// enter counts a request to the model, and reports whether the gate lets the request through.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts.Asked++
	if g.mode == refuses {
		g.counts.Failed++
		return false
	}
	g.counts.Writing++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts.Writing--
}

// set changes the mode of the gate. The new mode also applies to answers that are already being written.
func (g *gate) set(m mode) error {
	if m != answers && m != refuses && m != breaks {
		return fmt.Errorf("unknown mode %q", m)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = m
	return nil
}

func (g *gate) now() gateCounts {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.counts
	c.Mode = g.mode
	return c
}

// shape wraps the body of an answer, so that the answer breaks off in the mode breaks.
func (g *gate) shape(r *http.Response) error {
	r.Body = &breaking{ReadCloser: r.Body, gate: g}
	return nil
}

var errBroken = errors.New("the demo broke the answer off")

// breaking is the body of an answer. In the mode breaks, reading from the body fails once the gate has let breakAfter bytes
// through.
type breaking struct {
	io.ReadCloser
	gate *gate
	read int
}

// Read implements io.Reader.
func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += n
	if b.read < breakAfter {
		return n, err
	}
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	if b.gate.mode == breaks {
		b.gate.counts.Failed++
		return 0, errBroken
	}
	return n, err
}
