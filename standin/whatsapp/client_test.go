package whatsapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/standin/memnet"
	"telex/standin/whatsapp"
)

const (
	user  = whatsapp.DefaultUser
	phone = "15550001001"
	base  = "/v26.0/" + whatsapp.PhoneNumberID
)

// client is a bot that speaks to a stand-in over an in-memory network, and receives its webhooks.
type client struct {
	t      *testing.T
	server *whatsapp.Server
	http   *http.Client
	app    *app
}

// start serves a stand-in and an app until the test ends. start also works inside a synctest bubble.
func start(t *testing.T, opts whatsapp.Options) *client {
	t.Helper()
	a := &app{t: t, verifyToken: whatsapp.DefaultVerifyToken}
	opts.Dial = memnet.Serve(t, &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}).Dial
	s := whatsapp.New(opts)
	c := &client{t: t, server: s, http: &http.Client{Transport: memnet.Serve(t, s).Transport(t)}, app: a}
	if err := s.SetCallback(t.Context(), callback); err != nil {
		t.Fatal(err)
	}
	return c
}

const callback = "http://app/whatsapp"

// free starts a stand-in without limits.
func free(t *testing.T) *client {
	t.Helper()
	return start(t, whatsapp.Options{Limits: whatsapp.NoLimits()})
}

// reply is a response of the API, or the error of the connection.
type reply struct {
	Status   int
	Header   http.Header
	Raw      string
	Contacts []struct {
		Input  string `json:"input"`
		WaID   string `json:"wa_id"`
		UserID string `json:"user_id"`
	} `json:"contacts"`
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	ID       string `json:"id"`
	Success  bool   `json:"success"`
	URL      string `json:"url"`
	Mime     string `json:"mime_type"`
	SHA256   string `json:"sha256"`
	FileSize int    `json:"file_size"`
	Error    struct {
		Message   string `json:"message"`
		Type      string `json:"type"`
		Code      int    `json:"code"`
		Subcode   int    `json:"error_subcode"`
		ErrorData struct {
			Product string `json:"messaging_product"`
			Details string `json:"details"`
		} `json:"error_data"`
		Trace string `json:"fbtrace_id"`
	} `json:"error"`
	Err error `json:"-"`
}

// text returns the body of a valid text message.
func text(body string) string { return send(`"text":{"body":` + quote(body) + `}`) }

// send returns the body of a message to the default person, without the field type. fields is the JSON of its content.
func send(fields string) string {
	return `{"messaging_product":"whatsapp","to":"` + phone + `",` + fields + `}`
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// post sends a message or a read receipt.
func (c *client) post(body string) reply {
	c.t.Helper()
	return c.request(http.MethodPost, base+"/messages", c.server.Token(), "application/json", body)
}

// ok posts a message that must be accepted, and returns its id.
func (c *client) ok(body string) string {
	c.t.Helper()
	r := c.post(body)
	if r.Status != http.StatusOK {
		c.t.Fatalf("%s: got %d %s (%v), want 200", body, r.Status, r.Raw, r.Err)
	}
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[0].ID
}

func (c *client) get(path string) reply {
	c.t.Helper()
	return c.request(http.MethodGet, path, c.server.Token(), "", "")
}

func (c *client) request(verb, path, token, contentType, body string) reply {
	c.t.Helper()
	return c.requestWithin(c.t.Context(), verb, path, token, contentType, body)
}

func (c *client) requestWithin(ctx context.Context, verb, path, token, contentType, body string) reply {
	c.t.Helper()
	if !strings.HasPrefix(path, "http:") {
		path = "http://standin" + path
	}
	req, err := http.NewRequestWithContext(ctx, verb, path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{Err: err}
	}
	data, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	r := reply{Status: res.StatusCode, Header: res.Header, Raw: string(data), Err: err}
	if err == nil && !strings.Contains(path, "/control/") && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		r.Err = json.Unmarshal(data, &r)
	}
	return r
}

// upload uploads a file.
func (c *client) upload(mimeType string, content []byte) reply {
	c.t.Helper()
	return c.form(map[string]string{"messaging_product": "whatsapp"}, mimeType, content)
}

// form uploads a file with other fields. Without a media type, form sends no file.
func (c *client) form(values map[string]string, mimeType string, content []byte) reply {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range values {
		if err := w.WriteField(name, value); err != nil {
			c.t.Fatal(err)
		}
	}
	if mimeType != "" {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="file"; filename="a.bin"`}, "Content-Type": {mimeType},
		})
		if err == nil {
			_, err = part.Write(content)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.request(http.MethodPost, base+"/media", c.server.Token(), w.FormDataContentType(), body.String())
}

// say lets a person send a message.
func (c *client) say(in whatsapp.Incoming) string {
	c.t.Helper()
	id, err := c.server.Say(in)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// app is an HTTP server at the bot's callback URL.
type app struct {
	t           *testing.T
	verifyToken string
	mu          sync.Mutex
	got         []webhook
	answer      func(n int) (status int, after time.Duration) // n is the number of the webhook, from 0; nil: 200 at once
}

// webhook is a request that the app received.
type webhook struct {
	at     time.Time
	header http.Header
	raw    []byte
	Object string `json:"object"`
	Entry  []struct {
		ID      string `json:"id"`
		Changes []struct {
			Field string `json:"field"`
			Value value  `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

type value struct {
	Product  string `json:"messaging_product"`
	Metadata struct {
		Number string `json:"display_phone_number"`
		ID     string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []struct {
		Profile struct {
			Name     string `json:"name"`
			Username string `json:"username"`
		} `json:"profile"`
		WaID   string `json:"wa_id"`
		UserID string `json:"user_id"`
	} `json:"contacts"`
	Messages []inbound `json:"messages"`
	Statuses []status  `json:"statuses"`
}

type inbound struct {
	From       string `json:"from"`
	FromUserID string `json:"from_user_id"`
	ID         string `json:"id"`
	Timestamp  string `json:"timestamp"`
	Type       string `json:"type"`
	Text       struct {
		Body string `json:"body"`
	} `json:"text"`
	Image, Audio, Video, Document, Sticker *struct {
		ID       string `json:"id"`
		URL      string `json:"url"`
		Mime     string `json:"mime_type"`
		SHA256   string `json:"sha256"`
		Caption  string `json:"caption"`
		Filename string `json:"filename"`
		Voice    bool   `json:"voice"`
	}
	Location map[string]any   `json:"location"`
	Contacts []map[string]any `json:"contacts"`
	Reaction struct {
		MessageID string `json:"message_id"`
		Emoji     string `json:"emoji"`
	} `json:"reaction"`
	Interactive struct {
		Type  string `json:"type"`
		Reply struct {
			ID    string `json:"id"`
			Title string `json:"title"`
		} `json:"button_reply"`
	} `json:"interactive"`
	Context struct {
		From      string `json:"from"`
		ID        string `json:"id"`
		Forwarded bool   `json:"forwarded"`
		Often     bool   `json:"frequently_forwarded"`
	} `json:"context"`
	Unsupported struct {
		Type string `json:"type"`
	} `json:"unsupported"`
	Errors []failure `json:"errors"`
	Edit   struct {
		Original string   `json:"original_message_id"`
		Message  *inbound `json:"message"`
	} `json:"edit"`
	Revoke struct {
		Original string `json:"original_message_id"`
	} `json:"revoke"`
	System struct {
		Body   string `json:"body"`
		Type   string `json:"type"`
		WaID   string `json:"wa_id"`
		UserID string `json:"user_id"`
	} `json:"system"`
}

type status struct {
	ID              string    `json:"id"`
	Status          string    `json:"status"`
	Timestamp       string    `json:"timestamp"`
	RecipientID     string    `json:"recipient_id"`
	RecipientUserID string    `json:"recipient_user_id"`
	Opaque          string    `json:"biz_opaque_callback_data"`
	Errors          []failure `json:"errors"`
}

type failure struct {
	Code  int    `json:"code"`
	Title string `json:"title"`
	Data  struct {
		Details string `json:"details"`
	} `json:"error_data"`
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		q := r.URL.Query()
		if q.Get("hub.mode") != "subscribe" || q.Get("hub.verify_token") != a.verifyToken {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, q.Get("hub.challenge")) // if the response gets lost, the handshake fails
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Errorf("read: %v", err)
	}
	got := webhook{at: time.Now(), header: r.Header, raw: body}
	if err := json.Unmarshal(body, &got); err != nil {
		a.t.Errorf("webhook %s: %v", body, err)
	}
	a.mu.Lock()
	n := len(a.got)
	a.got = append(a.got, got)
	answer := a.answer
	a.mu.Unlock()
	if answer != nil {
		code, after := answer(n)
		pause(after)
		w.WriteHeader(code)
	}
}

// answers sets the function that chooses the responses to webhooks from now on.
func (a *app) answers(f func(n int) (status int, after time.Duration)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = f
}

// webhooks returns the requests that the app has received so far.
func (a *app) webhooks() []webhook {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clip(a.got)
}

// inbound returns the messages that the app received, in the order of their webhooks.
func (a *app) inbound() []inbound {
	var list []inbound
	for _, v := range a.values() {
		list = append(list, v.Messages...)
	}
	return list
}

// statuses returns the statuses that the app received for its messages.
func (a *app) statuses() []status {
	var list []status
	for _, v := range a.values() {
		list = append(list, v.Statuses...)
	}
	return list
}

func (a *app) values() []value {
	var list []value
	for _, w := range a.webhooks() {
		for _, e := range w.Entry {
			for _, c := range e.Changes {
				list = append(list, c.Value)
			}
		}
	}
	return list
}

func pause(d time.Duration) { time.Sleep(d) } // for use in synctest bubbles only, where time is virtual
