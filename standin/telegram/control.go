package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"telex/standin/control"
	"telex/standin/host"
)

// serveControl answers the control API; see the package comment.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	control.API{
		Get:         s.controlGet,
		Post:        s.controlPost,
		File:        s.sentFile,
		Events:      func(w http.ResponseWriter, r *http.Request) { s.events.Serve(w, r, cut) },
		ClearFaults: s.ClearFaults,
		Paused:      func(ctx context.Context, most time.Duration) any { return s.holds.Wait(ctx, most, cut) },
		Release:     s.holds.Release,
		Reset:       func(r *http.Request) { s.reset(host.Conn(r)) },
		Restart:     func(r *http.Request, down time.Duration) { s.restart(down, host.Conn(r)) },
		Log:         s.log,
	}.ServeHTTP(w, r)
}

func (s *Server) controlGet(r *http.Request, name string) (any, error) {
	query := r.URL.Query()
	switch name {
	case "info":
		s.mu.Lock()
		defer s.mu.Unlock()
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
		return control.Last(s.Calls(), query.Get("last")), nil
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
	case "history", "view":
		id, err := strconv.ParseInt(query.Get("chat"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("chat: number expected, got %q", query.Get("chat"))
		}
		if name == "history" {
			return s.Chronicle(id), nil
		}
		at, err := control.Time(query.Get("at"))
		if err != nil {
			return nil, err
		}
		return s.Screen(id, at), nil
	}
	return nil, control.ErrUnknown
}

// controlRequest is the union of the bodies of the small controls.
type controlRequest struct {
	Chat      int64  `json:"chat"`
	User      int64  `json:"user"`
	MessageID int    `json:"message_id"`
	Data      string `json:"data"`
	DraftID   int64  `json:"draft_id"`
	Blocked   *bool  `json:"blocked"`
	Admin     *bool  `json:"admin"`
	Published Limits `json:"published"`
	Hidden    Limits `json:"hidden"`
	Off       bool   `json:"off"`
}

func (s *Server) controlPost(r *http.Request, name string) (any, error) {
	switch name {
	case "say":
		return s.controlSay(r.Body)
	case "fault":
		var f Fault
		if err := control.Decode(r.Body, &f); err != nil {
			return nil, err
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		return map[string]int{"id": s.Fault(f)}, nil
	case "outage":
		var o Outage
		if err := control.Decode(r.Body, &o); err != nil {
			return nil, err
		}
		return struct{}{}, s.outage(o, host.Conn(r))
	}
	var c controlRequest
	if err := control.Decode(r.Body, &c); err != nil {
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
		return nil, control.ErrUnknown
	}
	return struct{}{}, nil
}

func (s *Server) controlSay(body io.Reader) (any, error) {
	var in Incoming
	if err := control.Decode(body, &in); err != nil {
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
