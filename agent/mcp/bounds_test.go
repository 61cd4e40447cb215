package mcp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/agent"
)

// rawServer returns an MCP server without the SDK. answer writes the response to each request.
func rawServer(t *testing.T, answer func(w http.ResponseWriter, method string, id json.RawMessage)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		body, err := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || err != nil || json.Unmarshal(body, &req) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer(w, req.Method, req.ID)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// plainAnswer responds to requests like a server with one tool.
func plainAnswer(w http.ResponseWriter, method string, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	switch method {
	case "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`, id)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"dig","inputSchema":{"type":"object"}}]}}`, id)
	case "tools/call":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"dug"}]}}`, id)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
	}
}

// peakOf returns the maximum growth of the process's memory while f runs.
func peakOf(f func()) (grown int64) {
	read := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	runtime.GC()
	before, stop := read(), make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				grown = max(grown, read()-before)
			}
		}
	})
	f()
	close(stop)
	watching.Wait()
	return grown
}

// A server answers a call with an event of 96 MiB, with and without compression. The call must fail, and the memory of the
// process must not grow by the size of the event.
func TestEventsAreBounded(t *testing.T) {
	const size = 96 << 20
	event := func(w io.Writer, id json.RawMessage) {
		_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for range size >> 20 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, "\"}]}}\n\n")
	}
	for name, send := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"plain": func(w http.ResponseWriter, id json.RawMessage) { event(w, id) },
		"compressed": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			event(z, id)
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rawServer(t, func(w http.ResponseWriter, method string, id json.RawMessage) {
				if method != "tools/call" {
					plainAnswer(w, method, id)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				send(w, id)
			})
			c, _ := running(t, Server{Name: "it", URL: s.URL})
			dig := find(t, c, "it_dig")
			grown := peakOf(func() {
				if out, err := dig.Call(t.Context(), agent.Input{Arguments: "{}"}); err == nil {
					t.Errorf("an event of %d MiB was taken: %d bytes of text", size>>20, len(out.Text))
				}
			})
			t.Logf("memory grew by %d MiB", grown>>20)
			if grown > 64<<20 {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
		})
	}
}

// A server sends a long list of tools, in pages of 1 MiB with one tool each. The client must not keep all pages in memory.
func TestListsAreBounded(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(`{"tools":[{"name":"NAME","description":"`)
	page.WriteString(strings.Repeat("x", 1<<20))
	page.WriteString(`","inputSchema":{"type":"object"}}],"nextCursor":"more"}`)
	n := 0
	s := rawServer(t, func(w http.ResponseWriter, method string, id json.RawMessage) {
		if method != "tools/list" {
			plainAnswer(w, method, id)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		n++
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, bytes.Replace(page.Bytes(), []byte("NAME"), fmt.Appendf(nil, "dig%d", n), 1))
	})
	var c *Client
	grown := peakOf(func() {
		c, _ = running(t, Server{Name: "it", URL: s.URL})
		until(t, "the tools, or that there are none", func() bool { return len(c.Tools()) > 0 || c.Status()[0].Err != "" })
	})
	t.Logf("memory grew by %d MiB, %+v", grown>>20, c.Status())
	if grown > 48<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}
