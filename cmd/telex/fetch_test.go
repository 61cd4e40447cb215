package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// public is an address on the public internet. The daemons of these tests reach the address through the test's proxy,
// which connects them to a local server.
const public = "93.184.215.14"

// hostile is a hostile web site at the address that the constant public contains.
type hostile struct {
	env             []string     // environment with which a daemon uses the proxy and trusts the site's certificate
	sent, dripped   atomic.Int64 // numbers of bytes
	read, elsewhere atomic.Int64 // numbers of requests for /news, and of requests to the proxy for other hosts
}

// newHostile runs a hostile site until the test ends. Only root could make a public name resolve to loopback, so the
// tests use the name "localhost" here. The tests of agent/tool cover public names.
func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{}
	site := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	certificate, authority := certified(t, public)
	site.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	site.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != public+":443" {
			h.elsewhere.Add(1)
			http.Error(w, "no way", http.StatusForbidden)
			return
		}
		tunnel(w, site.Listener.Addr().String())
	}))
	t.Cleanup(func() {
		site.CloseClientConnections()
		site.Close()
		proxy.Close()
	})
	path := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + path}
	return h
}

func (h *hostile) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	switch r.URL.Path {
	case "/metadata":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	case "/inside":
		http.Redirect(w, r, "https://localhost/admin", http.StatusFound)
	case "/huge":
		line := []byte(strings.Repeat("0123456789abcde\n", 1024))
		for h.sent.Load() < 1<<30 {
			n, err := w.Write(line)
			if h.sent.Add(int64(n)); err != nil {
				return
			}
		}
	case "/drip":
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			if _, err := io.WriteString(w, "x"); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			h.dripped.Add(1)
			select {
			case <-every.C:
			case <-r.Context().Done():
				return
			}
		}
	case "/news":
		h.read.Add(1)
		fmt.Fprint(w, "The bridge is open again.")
	}
}

// certified returns a self-signed certificate for an address, as a tls.Certificate and as PEM.
func certified(t *testing.T, ip string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(ip)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// tunnel connects a proxy's client with a server until both have closed.
func tunnel(w http.ResponseWriter, to string) {
	there, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
	})
	_, _ = io.Copy(here, there)
	_ = here.Close()
	both.Wait()
}

// toldOf returns the tool result that the model received in the turn that answers the question.
func (w *world) toldOf(question string) (told string) {
	w.t.Helper()
	for _, r := range w.model.Requests() {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if !strings.Contains(r.Question, question) {
			continue
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			w.t.Fatal(err)
		}
		for _, m := range body.Messages {
			if m.Role == "tool" {
				told = m.Content
			}
		}
	}
	return told
}

// A server redirects to an internal address, sends data without end, or is very slow. The tool fetch must refuse such a
// page or cut it, and the model must read the reason.
func TestFetchHostile(t *testing.T) {
	t.Parallel()
	site := newHostile(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	cases := []struct{ path, want string }{
		{"/metadata", "Error: " + public + " redirects to another address: this address is not on the public internet, and only that may be read."},
		{"/inside", "Error: " + public + " redirects to https://localhost/admin, which is another site; fetch that URL if it matters."},
		{"/huge", "[These were bytes 0 to 40960 of 2097151. Call again with \"from\": 40960 to go on.]"},
		{"/drip", "Error: read " + public + ": it took longer than 20 seconds."},
	}
	for _, tt := range cases {
		if err := w.model.Rule(openai.Rule{Match: tt.path, Skip: 1, Times: 1, Do: fmt.Sprintf("say=%q", "So much for "+tt.path)}); err != nil {
			t.Fatal(err)
		}
	}
	p := w.daemon(sections{more: "tools: {enabled: [fetch]}"}, site.env...)
	for i, tt := range cases {
		w.telegram.Say(telegram.Incoming{User: int64(3000 + i), FirstName: "Eve", Text: fmt.Sprintf("call: fetch {\"url\":\"https://%s%s\"}", public, tt.path)})
	}
	p.awaitLog("turn ended", len(cases))
	for i, tt := range cases {
		told := w.toldOf(tt.path)
		if !strings.HasSuffix(told, tt.want) || len(told) > 42_000 {
			t.Errorf("%s: the model was told %d bytes: …%q, want %q", tt.path, len(told), told[max(0, len(told)-300):], tt.want)
		}
		w.wantTexts(int64(3000+i), "So much for "+tt.path)
		t.Logf("%-10s the model is told: %s", tt.path, told[max(0, len(told)-150):])
	}
	if sent := site.sent.Load(); sent > 32<<20 {
		t.Errorf("%d bytes of the gigabyte were sent", sent)
	}
	if dripped := site.dripped.Load(); dripped > 25 {
		t.Errorf("%d bytes dripped", dripped)
	}
	if n := site.elsewhere.Load(); n != 0 {
		t.Errorf("%d connections were asked for to other places", n)
	}
	t.Logf("sent of 1 GB: %d KiB; dripped: %d bytes; memory of the daemon: %s", site.sent.Load()>>10, site.dripped.Load(), memoryOf(t, p))
}

// If nobody typed a URL, the tool fetch must read the page only after a person has approved the call.
func TestFetchOfAnAddressThatNobodyWrote(t *testing.T) {
	t.Parallel()
	site := newHostile(t)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	address := "https://" + public + "/news?of=Ada"
	if err := w.model.Rule(openai.Rule{
		Match: "What is new?", Do: fmt.Sprintf("call=%q", fmt.Sprintf(`fetch {"url":%q}`, address)),
	}); err != nil {
		t.Fatal(err)
	}
	p := w.daemon(sections{streaming: "{telegram: {enabled: true, edit_interval: 0.3}}", more: "tools: {enabled: [fetch]}"}, site.env...)
	for i, tt := range []struct {
		button, decision, told string
		read                   int64 // how often the page /news was read so far
	}{
		{"Deny", "denied", "Not done: the person denied this call. Do not call it again unless you are asked to.", 0},
		{"Approve", "approved", "https://" + public + "/news?of=Ada (text/plain)\n\nThe bridge is open again.", 1},
		// The bot asks the person again, because a URL in the model's text does not count as typed by the person.
		{"Approve", "approved", "https://" + public + "/news?of=Ada (text/plain)\n\nThe bridge is open again.", 2},
	} {
		w.ask("What is new?")
		var m telegram.Message
		w.await("the question", func() bool {
			list := w.replies(ada)
			if len(list) == i+1 {
				m = list[i]
			}
			return len(list) == i+1 && len(m.Last().Keyboard) > 0
		})
		asked := telegramPost(m).last()
		if !strings.Contains(asked.text, "Read "+address+", an address that you did not type here") || strings.Join(asked.labels(), " ") != "Approve Deny" {
			t.Errorf("ada is asked %q with the buttons %q", asked.text, asked.labels())
		}
		if w.telegram.Press(ada, ada, m.ID, asked.button(t, tt.button)) == "" {
			t.Fatal("there is no such button")
		}
		p.awaitLog("turn ended", i+1)
		if got := w.toldOf("What is new?"); got != tt.told {
			t.Errorf("%s: the model was told %q, want %q", tt.button, got, tt.told)
		}
		if got := site.read.Load(); got != tt.read {
			t.Errorf("%s: the page was read %d times so far, want %d", tt.button, got, tt.read)
		}
		if list := p.logged("a tool call was decided"); len(list) != i+1 || list[i].text("decision") != tt.decision {
			t.Errorf("%s: the log says %v", tt.button, list)
		}
		if last := w.replies(ada)[i].Last(); len(last.Keyboard) > 0 || strings.Contains(last.Text, mayI) {
			t.Errorf("%s: in the end ada sees %q", tt.button, last.Text)
		}
		t.Logf("%s: %q", tt.button, w.texts(ada)[i])
	}
}
