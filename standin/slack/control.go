package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxControlBody is the largest request to the control API, in bytes.
	maxControlBody = 1 << 20
	// maxSay is the largest of those that carry files, in bytes of base64.
	maxSay = 128 << 20
)

// serveControl answers the control API; see the package comment.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		s.refuse(w, http.StatusForbidden, err)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/control/")
	switch {
	case name == "events" && r.Method == http.MethodGet:
		s.serveEvents(w, r)
		return
	case name == "file" && r.Method == http.MethodGet:
		s.serveFile(w, r)
		return
	}
	var (
		result any
		err    error
	)
	switch r.Method {
	case http.MethodGet:
		result, err = s.controlGet(r, name)
	case http.MethodPost:
		result, err = s.controlPost(w, r, name) //nolint:contextcheck // deliveries outlive what caused them
	case http.MethodDelete:
		if name != "fault" {
			err = errNoControl
			break
		}
		s.ClearFaults()
		result = struct{}{}
	default:
		err = errNoControl
	}
	switch {
	case errors.Is(err, errNoControl):
		s.refuse(w, http.StatusNotFound, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	case err != nil:
		s.refuse(w, http.StatusBadRequest, err)
	default:
		s.respond(w, answer{status: http.StatusOK, contentType: jsonType, body: encode(result)})
	}
	if name == "restart" && err == nil {
		down, _ := result.(restarted)
		s.restart(time.Duration(down.DownMS)*time.Millisecond, connOf(r))
	}
}

var errNoControl = errors.New("no such control")

func (s *Server) refuse(w http.ResponseWriter, status int, err error) {
	s.respond(w, answer{status: status, contentType: jsonType, body: encode(map[string]string{"error": err.Error()})})
}

func (s *Server) controlGet(r *http.Request, name string) (any, error) {
	query := r.URL.Query()
	switch name {
	case "info":
		return s.info(), nil
	case "channels":
		return s.Channels(), nil
	case "stats":
		return s.Stats(), nil
	case "calls":
		return last(s.Calls(), query.Get("last")), nil
	case "deliveries":
		return last(s.Deliveries(), query.Get("last")), nil
	case "commands":
		return s.Commands(), nil
	case "paused":
		return s.waitPaused(r.Context(), query.Get("wait"))
	case "history":
		return s.Chronicle(query.Get("channel")), nil
	case "view":
		at, err := parseTime(query.Get("at"))
		if err != nil {
			return nil, err
		}
		return s.Screen(query.Get("channel"), at), nil
	}
	return nil, errNoControl
}

func last[T any](list []T, most string) []T {
	if n, err := strconv.Atoi(most); err == nil && n >= 0 {
		return list[max(0, len(list)-n):]
	}
	return list
}

// info is what a program has to know to begin.
func (s *Server) info() object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{
		"team_id": TeamID, "app_id": AppID, "bot_user": BotUser, "bot_id": BotID, "user": DefaultUser, "channel": imOf(DefaultUser),
		"request_url": s.requestURL, "started": s.started, "now": time.Now(),
	}
}

// parseTime reads RFC 3339, milliseconds since 1970, or "" for now.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("at: RFC 3339 or milliseconds expected: %w", err)
	}
	return at, nil
}

// controlRequest is the union of the bodies of the small controls.
type controlRequest struct {
	Channel   string `json:"channel"`
	User      string `json:"user"`
	TS        string `json:"ts"`
	Text      string `json:"text"`
	Command   string `json:"command"`
	Button    string `json:"button"`
	Reason    string `json:"reason"`
	URL       string `json:"url"`
	ID        int    `json:"id"`
	DownMS    int    `json:"down_ms"`
	GraceMS   int    `json:"grace_ms"`
	Off       bool   `json:"off"`
	Drop      bool   `json:"drop"`
	Published Limits `json:"published"`
	Hidden    Limits `json:"hidden"`
}

type restarted struct {
	DownMS int `json:"down_ms"`
}

func (s *Server) controlPost(w http.ResponseWriter, r *http.Request, name string) (any, error) {
	body := http.MaxBytesReader(w, r.Body, maxControlBody)
	switch name {
	case "say":
		return s.controlSay(http.MaxBytesReader(w, r.Body, maxSay))
	case "user":
		var u User
		if err := decodeStrict(body, &u); err != nil || u.ID == "" {
			return nil, errors.Join(err, errNeedsID(u.ID))
		}
		s.SetUser(u)
		return struct{}{}, nil
	case "channel":
		var c Channel
		if err := decodeStrict(body, &c); err != nil || c.ID == "" {
			return nil, errors.Join(err, errNeedsID(c.ID))
		}
		s.SetChannel(c)
		return struct{}{}, nil
	case "fault":
		var f Fault
		if err := decodeStrict(body, &f); err != nil {
			return nil, err
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		return map[string]int{"id": s.Fault(f)}, nil
	case "outage":
		var o Outage
		if err := decodeStrict(body, &o); err != nil {
			return nil, err
		}
		f, err := o.fault()
		if err != nil {
			return nil, err
		}
		s.outage(o.Kind, f, connOf(r))
		return struct{}{}, nil
	}
	var c controlRequest
	if err := decodeStrict(body, &c); err != nil {
		return nil, err
	}
	return s.controlPerson(r, name, c)
}

func errNeedsID(id string) error {
	if id == "" {
		return errors.New("id is missing")
	}
	return nil
}

// controlPerson is what people do.
func (s *Server) controlPerson(r *http.Request, name string, c controlRequest) (any, error) {
	switch name {
	case "command":
		if id := s.Command(c.Channel, c.User, c.Command, c.Text); id != 0 {
			return map[string]int{"id": id}, nil
		}
		return nil, errors.New("no commands here")
	case "press":
		if id := s.Press(c.Channel, c.User, c.TS, c.Button); id != 0 {
			return map[string]int{"id": id}, nil
		}
		return nil, errors.New("no such button")
	case "assistant":
		return map[string]string{"thread_ts": s.OpenAssistant(c.User)}, nil
	case "edit":
		if !s.Edit(c.Channel, c.TS, c.Text) {
			return nil, errors.New("no such message")
		}
	case "delete":
		if !s.Delete(c.Channel, c.TS) {
			return nil, errors.New("no such message")
		}
	case "archive":
		s.Archive(c.Channel, !c.Off)
	case "remove_bot":
		s.RemoveBot(c.Channel)
	case "add_bot":
		s.AddBot(c.Channel)
	default:
		return s.controlPlatform(r, name, c)
	}
	return struct{}{}, nil
}

// controlPlatform is what the platform does.
func (s *Server) controlPlatform(r *http.Request, name string, c controlRequest) (any, error) {
	switch name {
	case "revoke":
		s.Revoke(!c.Off)
	case "request_url":
		if err := s.SetRequestURL(r.Context(), c.URL); err != nil {
			return nil, err
		}
	case "disconnect":
		s.Disconnect(c.Reason, time.Duration(c.GraceMS)*time.Millisecond)
	case "cut_sockets":
		return map[string]int{"sockets": s.CutSockets()}, nil
	case "stall_sockets":
		return map[string]int{"sockets": s.StallSockets()}, nil
	case "limits":
		if c.Off {
			c.Published = NoLimits()
		}
		s.SetLimits(c.Published, c.Hidden)
	case "resume":
		return map[string]int{"resumed": s.release(c.ID, !c.Drop)}, nil
	case "restart":
		return restarted{DownMS: c.DownMS}, nil
	case "reset":
		s.reset(connOf(r))
	default:
		return nil, errNoControl
	}
	return struct{}{}, nil
}

func (s *Server) controlSay(body io.Reader) (any, error) {
	var in Incoming
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	ts, err := s.say(in)
	if err != nil {
		return nil, err
	}
	return map[string]string{"channel": orElse(in.Channel, imOf(orElse(in.User, DefaultUser))), "ts": ts}, nil
}

// serveFile answers with the content of a file.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.URL.Query().Get("id")]
	var data []byte
	if f != nil {
		data = f.Content
	}
	s.mu.Unlock()
	if f == nil {
		s.refuse(w, http.StatusBadRequest, errors.New("no such file"))
		return
	}
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	s.respond(w, answer{status: http.StatusOK, contentType: "application/octet-stream", body: data})
}

// waitPaused waits up to so many seconds until a fault holds a call.
func (s *Server) waitPaused(ctx context.Context, seconds string) ([]Paused, error) {
	limit := 0
	if seconds != "" {
		n, err := strconv.Atoi(seconds)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("wait: seconds expected, got %q", seconds)
		}
		limit = n
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(limit)*time.Second)
	defer cancel()
	events := s.Watch(ctx)
	if list := s.Paused(); len(list) > 0 {
		return list, nil
	}
	for e := range events {
		if e.Kind == "paused" {
			break
		}
	}
	return s.Paused(), nil
}
