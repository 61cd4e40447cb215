package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"time"

	"telex/standin/rig"
)

// errClosed means that an answer ended early because the server was closed.
var errClosed = errors.New("server closed")

// errCut ends an answer by dropping the connection.
var errCut = errors.New("connection cut")

// exchange is one running request.
type exchange struct {
	s      *Server
	ctx    context.Context //nolint:containedctx // this context ends with the exchange, the client's connection or the server
	w      http.ResponseWriter
	rec    *Request
	epoch  int
	req    *chatRequest // a request of the Responses API is converted to this form
	api    api          // the called API
	out    encoder
	b      behaviour
	p      plan
	dice   *rand.Rand
	wire   wire
	serial uint64
	begun  bool // the status line has been written
}

// api is a request to one of the two APIs. The server calls the methods after it has determined the behaviour for the
// request.
type api interface {
	checkWindow(b behaviour)
	checkDemands(b behaviour)
	encoder(x *exchange) encoder
}

func (*chatRequest) encoder(x *exchange) encoder { return completions{x} }

// serveChat answers a chat completion request.
func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, maxBody, func(x *exchange, body []byte) error {
		return x.converse(r, body, func() {
			x.req = parseRequest(body, s.opts.Models)
			x.api = x.req
		})
	})
}

// serve reads a request, calls the function run to answer it, and records it. The parameter most is the maximum size of
// the request's body in bytes.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, most int64, run func(x *exchange, body []byte) error) {
	began := time.Now()
	body, bodyErr := readBody(w, r, most)
	// Because the body has been read, net/http ends the request's context as soon as the client disconnects.
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errClosed) })() //nolint:contextcheck // Closing the server also ends ctx.

	x := &exchange{s: s, ctx: ctx, w: w, wire: wire{w: w}}
	rec := &Request{Time: began, Method: r.Method, Path: r.URL.Path, Header: mask(r.Header)}
	switch {
	case most == maxAudio: // records do not contain recordings, which are large
	case json.Valid(body):
		rec.Body = body
	default:
		rec.Invalid = string(body)
	}
	x.open(rec)
	err := checked(func() { s.authorize(r) })
	if err == nil {
		err = bodyErr
	}
	if err == nil {
		err = run(x, body)
	}
	x.finish(err)
}

// readBody reads a request body. most is its maximum size in bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, newError(http.StatusRequestEntityTooLarge, "server_error", "", "",
			fmt.Sprintf("Maximum content size limit (%d) exceeded (%d bytes read)", most, max(r.ContentLength, most+1)))
	}
	if err != nil {
		return nil, invalid("", "", "We could not read the body of your request.")
	}
	return body, nil
}

// converse calls the function parse to read a request, and then answers the request.
func (x *exchange) converse(r *http.Request, body []byte, parse func()) error {
	if err := checked(func() { x.prepare(r, body, parse) }); err != nil {
		return err
	}
	return x.answer()
}

// finish completes the record of the request and ends the response.
func (x *exchange) finish(err error) {
	end := x.end(err)
	x.close(end, err)
	if errors.Is(err, errCut) || end == EndServerClosed {
		// Only this panic makes net/http drop the connection without the regular end of the response.
		panic(http.ErrAbortHandler)
	}
}

// prepare parses the request and plans the whole answer before any of it is sent.
func (x *exchange) prepare(r *http.Request, body []byte, parse func()) {
	contentType := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(contentType)
	rig.RefuseIf(err != nil || kind != "application/json", newError(http.StatusUnsupportedMediaType, "invalid_request_error", "", "unsupported_content_type",
		fmt.Sprintf("Unsupported content type: '%s'. This API method only accepts 'application/json' requests.", contentType)))
	parse()
	req := x.req
	talk, settings := req.said()
	question := ""
	if users := userTexts(talk); len(users) > 0 {
		question = users[len(users)-1]
	}
	kind = "plain"
	if req.Stream {
		kind = "stream"
	}
	b, rule := x.s.behave(ask{model: req.Model, question: question, kind: kind}, settings)
	x.b = b
	x.note(func(rec *Request) {
		rec.Model, rec.Question, rec.Stream, rec.Rule = req.Model, question, req.Stream, rule
		rec.Images, rec.Documents = req.images(), req.documents()
	})
	x.checkDemands(body)
	x.api.checkWindow(b)
	x.p = makePlan(req, talk, b, x.serial)
	x.dice = rand.New(rand.NewPCG(x.s.opts.Seed, hashOf(question))) //nolint:gosec // the jitter must be repeatable
	x.wire = wire{w: x.w, crlf: b.crlf, noSpace: b.noSpace, multiline: b.multiline}
	x.note(func(rec *Request) { rec.Planned = x.p.text })
	x.out = x.api.encoder(x)
}

// checkDemands refuses a request if it has a parameter that the setting "refuse" lists, or if it lacks data that the
// setting "require" demands.
func (x *exchange) checkDemands(body []byte) {
	var params map[string]json.RawMessage
	if err := json.Unmarshal(body, &params); err != nil {
		panic(invalid("", "", "We could not parse the JSON body of your request: %v", err))
	}
	for _, name := range x.b.refuse {
		if name == "image" {
			x.req.refuseImages()
			continue
		}
		if name == "file" {
			x.req.refuseFiles()
			continue
		}
		value, there := params[name]
		if !there || isNull(value) || string(value) == "false" {
			continue
		}
		invalidIf(name == "include", name, "", "Encrypted content is not supported with this model.")
		invalidIf(name == "stream", name, "unsupported_value", "Unsupported value: 'stream' is not supported with this model.")
		panic(invalid(name, "unsupported_parameter", "Unsupported parameter: '%s' is not supported with this model.", name))
	}
	x.api.checkDemands(x.b)
}

// answer sends the planned answer. answer returns nil if the answer is complete.
func (x *exchange) answer() error {
	as := x.b.as
	if as == "" {
		as = "json"
		if x.req.Stream {
			as = "sse"
		}
	}
	return x.write(func() {
		switch as {
		case "html":
			x.begin(http.StatusOK, "text/html")
			x.wire.raw(htmlPage(http.StatusOK))
		case "json":
			x.sendWhole()
		default:
			x.stream()
		}
	})
}

// write calls the function body, which writes an answer. write returns nil if the answer is complete, or the reason why
// the answer ended early.
func (x *exchange) write(body func()) error {
	if _, end := rig.Run[over](func() any { x.start(); body(); return nil }); end != nil {
		return end.why
	}
	return nil
}

// start waits for the delay before the status line. Depending on the settings, start then drops the connection or sends
// an error.
func (x *exchange) start() {
	x.pause(x.b.delay)
	if x.b.end.how != "" && x.b.end.after == beforeAll {
		x.breakOff()
	}
	if x.b.status != 0 {
		x.sendError()
	}
	maps.Copy(x.w.Header(), x.b.headers)
	x.w.Header().Set("Openai-Processing-Ms", strconv.FormatInt(x.b.delay.Milliseconds(), 10))
}

// begin writes the status line and the headers.
func (x *exchange) begin(status int, contentType string) {
	if x.b.contentType != "" {
		contentType = x.b.contentType
	}
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(status)
	x.begun = true
	x.note(func(rec *Request) { rec.Status = status })
}

// sendError sends an error as the whole answer. The settings of the behaviour determine the error.
func (x *exchange) sendError() {
	e := errorFor(x.b)
	maps.Copy(x.w.Header(), x.b.headers)
	body, form := e.body(), x.b.body
	if form == "" && x.b.status >= http.StatusBadGateway {
		form = "html" // proxies in front of providers send these statuses with HTML pages
	}
	contentType := "application/json"
	switch form {
	case "html":
		contentType, body = "text/html", htmlPage(x.b.status)
	case "empty":
		body = nil
	}
	x.begin(x.b.status, contentType)
	x.wire.raw(body)
	must(e)
}

// open adds the record of a request, and adds the request's id to the headers of the answer.
func (x *exchange) open(rec *Request) {
	s := x.s
	x.rec = rec
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	x.rec.ID, x.epoch = s.serial, s.epoch
	x.serial = hashOf(fmt.Sprintf("%d/%d", s.opts.Seed, s.serial))
	x.w.Header().Set("X-Request-Id", fmt.Sprintf("req_%016x", x.serial))
	x.w.Header().Set("Openai-Version", "2020-10-01")
	s.remember(x.rec)
	s.stats.Requests++
	s.stats.Active++
	s.stats.MaxActive = max(s.stats.MaxActive, s.stats.Active)
	s.notify()
}

// note changes the record of the request.
func (x *exchange) note(change func(*Request)) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	change(x.rec)
}

// end returns one of the constants End…, which describe how an answer ended. If the request was refused, end also sends
// the error.
func (x *exchange) end(err error) string {
	var refused *apiError
	switch {
	case err == nil:
		return EndComplete
	case errors.Is(err, errCut):
		return EndCut
	case errors.Is(err, errEOF):
		return EndEOF
	case errors.Is(err, errFailed):
		return EndFailed
	case errors.As(err, &refused):
		if !x.begun {
			x.note(func(rec *Request) { rec.Status = refused.status })
			x.s.refuse(x.w, refused)
		}
		return EndRefused
	case x.s.ctx.Err() != nil: // check this first, because closing the server also breaks the connection
		return EndServerClosed
	default:
		return EndClientClosed
	}
}

// close completes the record of the request and updates the counters.
func (x *exchange) close(end string, err error) {
	s := x.s
	s.mu.Lock()
	rec := x.rec
	rec.End, rec.Ended = end, time.Now()
	if err != nil {
		rec.Error = err.Error()
	}
	s.stats.Active--
	if x.epoch == s.epoch {
		switch end {
		case EndComplete:
			s.stats.Complete++
		case EndRefused:
			s.stats.Refused++
		case EndClientClosed:
			s.stats.Cancelled++
		case EndCut, EndEOF, EndFailed:
			s.stats.Broken++
		}
	}
	s.notify()
	took := rec.Ended.Sub(rec.Time)
	s.mu.Unlock()
	s.log.Info("answered", slog.Int("request", rec.ID), slog.Int("status", rec.Status), slog.String("end", end),
		slog.Int("tokens", rec.Tokens), slog.Duration("took", took))
}
