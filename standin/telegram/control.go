package telegram

import (
	"context"
	"encoding/json"
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
		result, err = s.controlPost(w, r, name)
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
		return struct {
			Bot     User      `json:"bot"`
			Started time.Time `json:"started"`
			Now     time.Time `json:"now"`
		}{s.me, s.started, time.Now()}, nil
	case "chats":
		return s.Chats(), nil
	case "stats":
		return s.Stats(), nil
	case "calls":
		list := s.Calls()
		if n, err := strconv.Atoi(query.Get("last")); err == nil && n >= 0 {
			list = list[max(0, len(list)-n):]
		}
		return list, nil
	case "commands":
		return append([]Command{}, s.Commands()...), nil // a list, also of none
	case "menu":
		chatID, err := strconv.ParseInt(query.Get("chat"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("chat: number expected, got %q", query.Get("chat"))
		}
		userID, err := strconv.ParseInt(orElse(query.Get("user"), "0"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("user: number expected, got %q", query.Get("user"))
		}
		return append([]Command{}, s.Menu(chatID, userID)...), nil // a list, also of none
	case "answers":
		return s.CallbackAnswers(), nil
	case "paused":
		return s.waitPaused(r.Context(), query.Get("wait"))
	case "history", "view":
		id, err := strconv.ParseInt(query.Get("chat"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("chat: number expected, got %q", query.Get("chat"))
		}
		if name == "history" {
			return s.Chronicle(id), nil
		}
		at, err := parseTime(query.Get("at"))
		if err != nil {
			return nil, err
		}
		return s.Screen(id, at), nil
	}
	return nil, errNoControl
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
	Chat      int64  `json:"chat"`
	User      int64  `json:"user"`
	MessageID int    `json:"message_id"`
	Data      string `json:"data"`
	DraftID   int64  `json:"draft_id"`
	ID        int    `json:"id"`
	DownMS    int    `json:"down_ms"`
	Blocked   *bool  `json:"blocked"`
	Admin     *bool  `json:"admin"`
	Published Limits `json:"published"`
	Hidden    Limits `json:"hidden"`
	Off       bool   `json:"off"`
	Drop      bool   `json:"drop"`
}

type restarted struct {
	DownMS int `json:"down_ms"`
}

func (s *Server) controlPost(w http.ResponseWriter, r *http.Request, name string) (any, error) {
	body := http.MaxBytesReader(w, r.Body, maxControlBody)
	switch name {
	case "say":
		return s.controlSay(http.MaxBytesReader(w, r.Body, maxSay))
	case "fault":
		var f Fault
		if err := decode(body, &f); err != nil {
			return nil, err
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		return map[string]int{"id": s.Fault(f)}, nil
	case "outage":
		var o Outage
		if err := decode(body, &o); err != nil {
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
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	switch name {
	case "press":
		id := s.Press(c.Chat, c.User, c.MessageID, c.Data)
		if id == "" {
			return nil, errors.New("no such button")
		}
		return map[string]string{"query_id": id}, nil
	case "delete":
		if !s.Delete(c.Chat, c.MessageID) {
			return nil, errors.New("no such message")
		}
	case "stop_draft":
		if !s.StopDraft(c.Chat, c.DraftID) {
			return nil, errors.New("no such draft")
		}
	case "limits":
		if c.Off {
			c.Published = NoLimits()
		}
		s.SetLimits(c.Published, c.Hidden)
	case "migrate":
		return map[string]int64{"chat": s.Migrate(c.Chat)}, nil
	case "resume":
		return map[string]int{"resumed": s.release(c.ID, !c.Drop)}, nil
	case "restart":
		return restarted{DownMS: c.DownMS}, nil
	case "reset":
		s.reset(connOf(r))
	default:
		return s.controlState(name, c)
	}
	return struct{}{}, nil
}

func (s *Server) controlState(name string, c controlRequest) (any, error) {
	switch name {
	case "block":
		s.Block(c.Chat, c.Blocked == nil || *c.Blocked)
	case "deactivate":
		s.Deactivate(c.Chat)
	case "admin":
		admin := c.Admin == nil || *c.Admin
		if c.User != 0 {
			s.SetPersonAdmin(c.Chat, c.User, admin)
			break
		}
		s.SetAdmin(c.Chat, admin)
	default:
		return nil, errNoControl
	}
	return struct{}{}, nil
}

func (s *Server) controlSay(body io.Reader) (any, error) {
	var in Incoming
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	said, err := in.read()
	if err != nil {
		return nil, err
	}
	if said.text.text == "" && len(said.files) == 0 {
		return nil, errors.New("text is empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.say(in, said)
	if len(ids) == 0 {
		return nil, errors.New("no such message")
	}
	told := struct {
		Chat       int64 `json:"chat"`
		MessageID  int   `json:"message_id"`
		MessageIDs []int `json:"message_ids,omitempty"` // of an album.
	}{Chat: orElse(in.Chat, orElse(in.User, defaultUser)), MessageID: ids[0]}
	if len(ids) > 1 {
		told.MessageIDs = ids
	}
	return told, nil
}

// decode reads one JSON object strictly; no body is an empty object.
func decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("decode request: %w", err)
	}
	return nil
}

// waitPaused waits up to so many seconds until a fault holds a call.
func (s *Server) waitPaused(ctx context.Context, seconds string) ([]Paused, error) {
	wait := 0
	if seconds != "" {
		n, err := strconv.Atoi(seconds)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("wait: seconds expected, got %q", seconds)
		}
		wait = n
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second)
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
