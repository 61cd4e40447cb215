package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends a request to the model through a gate.
func ask(t *testing.T, url string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/chat/completions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func TestGate(t *testing.T) {
	t.Parallel()
	var paths []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		_, _ = io.WriteString(w, strings.Repeat("x", 2*breakAfter))
	}))
	defer provider.Close()
	g, err := newGate(provider.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	defer front.Close()

	if status, body, err := ask(t, front.URL); err != nil || status != http.StatusOK || len(body) != 2*breakAfter {
		t.Errorf("through an open gate: %d, %d bytes, %v", status, len(body), err)
	}
	if err := g.set(breaks); err != nil {
		t.Fatal(err)
	}
	if status, body, err := ask(t, front.URL); err == nil || status != http.StatusOK || len(body) == 0 || len(body) >= 2*breakAfter {
		t.Errorf("an answer that breaks off: %d, %d bytes, %v", status, len(body), err)
	}
	if err := g.set(refuses); err != nil {
		t.Fatal(err)
	}
	if status, _, err := ask(t, front.URL); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("a gate that refuses: %d, %v", status, err)
	}
	if err := g.set("sleeps"); err == nil {
		t.Error("an unknown mode is taken")
	}
	if got, want := g.now(), (gateCounts{Mode: refuses, Asked: 3, Failed: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if len(paths) != 2 || paths[0] != "/v1/chat/completions" {
		t.Errorf("the provider saw %q", paths)
	}
}
