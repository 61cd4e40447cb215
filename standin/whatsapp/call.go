package whatsapp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"telex/standin/rig"
)

// Names of calls.
const (
	methodSend     = "sendMessage"
	methodRead     = "markRead"
	methodUpload   = "uploadMedia"
	methodMedia    = "getMedia"
	methodDelete   = "deleteMedia"
	methodDownload = "download"
	methodNumber   = "getPhoneNumber"
	// methodEdit is the method name of every attempt to change or delete a sent message. WhatsApp's API has no method that
	// changes or deletes a sent message.
	methodEdit    = "edit"
	methodUnknown = "unknown"
)

// Call is one call to the API, or the download of media.
type Call struct {
	rig.Call
	// User is the business-scoped user id of the person that the call concerns.
	User string `json:"user,omitempty"`
	// Message is the id of the message that the call created or to which it refers.
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"` // the code of an error response
	// Text is the text of a message.
	Text string `json:"text,omitempty"`
	// Body is the body of the request as received; "" for an upload.
	Body string `json:"body,omitempty"`

	webhook bool // the Call describes a webhook, so that faults can select the webhook
}

// request is the state of a call while the server executes the call. The caller holds s.mu.
type request struct {
	now    time.Time
	call   *Call
	http   *http.Request
	id     string // id of the object that the path names
	fields fields // fields of a JSON body
	form   rig.Form
	// malformed is the error of a request that can't be decoded or that no method accepts. The field malformed is nil for
	// all other requests.
	malformed *apiError
}

const (
	// maxBody is the maximum size of a JSON body in bytes. maxUpload is the maximum size of an upload with the form
	// around it.
	maxBody   = 1 << 20
	maxUpload = 101 << 20
)

// version matches the API version at the start of a path. Clients may omit the API version in the path.
var version = regexp.MustCompile(`^/v(\d+)\.\d+/`)

// serve answers every request that is not for the control API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	s.learnBase(r)
	call := &Call{Call: rig.Call{At: time.Now()}}
	req := &request{now: call.At, call: call, http: r}
	req.malformed = s.read(req)
	_, _ = io.Copy(io.Discard, r.Body) // read the body to its end, because the client may lose the response otherwise
	s.Locked(func() { call.User = s.userOf(req.fields) })
	s.Answer(w, r, call, cut, nil, func() rig.Answer { return s.invoke(req) })
}

// learnBase records the base URL at which clients reach the server.
func (s *Server) learnBase(r *http.Request) {
	if s.opts.BaseURL != "" || r.Host == "" {
		return
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	s.Locked(func() { s.base = scheme + r.Host })
}

// userOf returns the id of the person whom a request concerns. userOf accepts invalid requests, so that faults can
// select any request by its person.
func (s *Server) userOf(f fields) string {
	var to, recipient, message string
	for name, into := range map[string]*string{"to": &to, "recipient": &recipient, "message_id": &message} {
		_ = json.Unmarshal(f.values[name], into) // ignore the error: a value that is not a string names no person
	}
	if c := s.byPhone[normalizePhone(to)]; c != nil {
		return c.person.UserID
	}
	if m := s.messages[message]; m != nil {
		return m.User
	}
	return recipient
}

// trace returns a new fbtrace_id.
func (s *Server) trace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("Astandin%015d", s.serial)
}

// read determines the method of a call and reads the call's body.
func (s *Server) read(r *request) *apiError {
	path := r.http.URL.Path
	if strings.HasPrefix(path, downloadPath) {
		r.call.Method = methodDownload
		return nil
	}
	rest := version.ReplaceAllString(path, "/")
	id, edge, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	r.id = id
	r.call.Method = s.method(r.http.Method, id, edge)
	switch r.call.Method {
	case methodUpload:
		return r.readForm()
	case methodSend, methodEdit:
		return r.readBody()
	case methodUnknown:
		if id == s.opts.PhoneNumberID || !isDigits(id) && edge != "" || id == "" {
			return noPath("/" + cmp.Or(edge, id))
		}
		return noObject(strings.ToLower(r.http.Method), id)
	}
	return nil
}

// method returns the name of a call from its HTTP method and its path.
func (s *Server) method(verb, id, edge string) string {
	number := id == s.opts.PhoneNumberID
	switch {
	case number && edge == "messages" && verb == http.MethodPost:
		return methodSend
	case number && (edge == "messages" || strings.HasPrefix(edge, "messages/")), strings.HasPrefix(id, idPrefix):
		if verb != http.MethodGet {
			return methodEdit
		}
	case number && edge == "media" && verb == http.MethodPost:
		return methodUpload
	case number && edge == "" && verb == http.MethodGet:
		return methodNumber
	case !number && edge == "" && isDigits(id) && verb == http.MethodGet:
		return methodMedia
	case !number && edge == "" && isDigits(id) && verb == http.MethodDelete:
		return methodDelete
	}
	return methodUnknown
}

// readBody decodes a JSON object. As in the Graph API, a body whose content type is not JSON contains no parameters.
func (r *request) readBody() *apiError {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.http.Body, maxBody))
	if err != nil {
		return badParam("Request body could not be read")
	}
	r.call.Body = string(data)
	kind, _, _ := strings.Cut(r.http.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(strings.ToLower(kind)) == "application/json" {
		if r.fields, err = readFields(data); err != nil && r.call.Method != methodEdit {
			return badParam("Invalid JSON for POST body")
		}
	}
	switch {
	case r.call.Method == methodEdit:
	case r.fields.requestsEdit():
		r.call.Method = methodEdit
	case r.fields.has("status"):
		r.call.Method = methodRead
	}
	r.call.Text = r.fields.caption()
	return nil
}

// readForm decodes a multipart form.
func (r *request) readForm() *apiError {
	var err error
	if r.form, err = rig.ReadForm(r.http, maxUpload); err != nil {
		return badParam("Invalid multipart form")
	}
	return nil
}

func (s *Server) invoke(r *request) rig.Answer {
	trace := s.trace()
	s.mu.Lock()
	defer s.mu.Unlock()
	result, aerr := rig.Run[apiError](func() any { return s.dispatch(r) })
	if aerr != nil {
		r.call.Code = aerr.code
		return aerr.answer(trace)
	}
	r.call.Effect = r.call.Code == 0 // only a download fails without an error code
	if a, ok := result.(rig.Answer); ok {
		return a
	}
	return reply(http.StatusOK, result.(object)) //nolint:forcetypeassert,errcheck // methods return only objects
}

// dispatch runs a call. The caller holds s.mu.
func (s *Server) dispatch(r *request) any {
	s.authorize(r)
	rig.RefuseIf(r.malformed != nil, r.malformed)
	switch r.call.Method {
	case methodSend:
		return s.send(r)
	case methodRead:
		return s.markRead(r)
	case methodUpload:
		return s.upload(r)
	case methodMedia:
		return s.lookUp(r)
	case methodDelete:
		return s.deleteMedia(r)
	case methodDownload:
		return s.download(r)
	case methodNumber:
		return s.number(r)
	}
	// The request matches no method, but it tries to change or delete a sent message, which WhatsApp's API can't do.
	s.stats.EditAttempts++
	s.recordViolation(EditAttempt, r.call.Method, "", r.http.Method+" "+r.http.URL.Path)
	if r.http.Method == http.MethodPost && r.id == s.opts.PhoneNumberID {
		panic(fail(CodeParameter, "There is no way to change a message."))
	}
	panic(noObject(strings.ToLower(r.http.Method), r.id))
}

// authorize checks the access token.
func (s *Server) authorize(r *request) {
	kind, token, _ := strings.Cut(r.http.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	var refusal *apiError
	switch {
	case !strings.EqualFold(kind, "Bearer") || token == "":
		refusal = &apiError{status: http.StatusUnauthorized, code: CodeNoToken, message: "An access token is required to request this resource."}
	case token != s.opts.Token:
		refusal = fail(CodeToken, "")
	case s.expired:
		refusal = fail(CodeToken, "")
		refusal.message, refusal.subcode = "Error validating access token: Session has expired.", 463
	default:
		return
	}
	panic(refusal)
}

// number answers the call that requests data about the business's phone number. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/phone-numbers
func (s *Server) number(r *request) any {
	s.charge(r, s.limiter.account())
	level := "STANDARD"
	if s.opts.Coexistence {
		level = "NOT_APPLICABLE"
	}
	all := object{
		"verified_name": verifiedName, "code_verification_status": "VERIFIED", "display_phone_number": displayNumber,
		"quality_rating": "GREEN", "platform_type": "CLOUD_API", "throughput": object{"level": level},
		"id": s.opts.PhoneNumberID, "name_status": "APPROVED", "status": "CONNECTED", "account_mode": "LIVE",
	}
	names := r.http.URL.Query().Get("fields")
	if names == "" {
		for _, name := range []string{"name_status", "status", "account_mode"} {
			delete(all, name)
		}
		return all
	}
	chosen := object{"id": all["id"]}
	for name := range strings.SplitSeq(names, ",") {
		v, ok := all[name]
		rig.RefuseIf(!ok, badParam("Tried accessing nonexisting field (%s) on node type (WhatsAppBusinessPhoneNumber)", name))
		chosen[name] = v
	}
	return chosen
}

// displayNumber is the constant Number in the form in which people read it.
const displayNumber = "+1 555-078-3881"

// finish counts a finished call by its error code, and returns attributes for the log.
func (s *Server) finish(call *Call, _ rig.Answer) []slog.Attr {
	if call.Code != 0 {
		s.stats.ByCode[call.Code]++
	}
	return []slog.Attr{slog.String("user", call.User), slog.Int("code", call.Code)}
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
