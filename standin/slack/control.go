package slack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"telex/standin/control"
	"telex/standin/host"
)

// serveControl answers the control API; see the package comment.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	control.API{
		Get:         s.controlGet,
		Post:        s.controlPost,
		File:        s.content,
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
		return s.info(), nil
	case "channels":
		return s.Channels(), nil
	case "stats":
		return s.Stats(), nil
	case "calls":
		return control.Last(s.Calls(), query.Get("last")), nil
	case "deliveries":
		return control.Last(s.Deliveries(), query.Get("last")), nil
	case "commands":
		return s.Commands(), nil
	case "history":
		return s.Chronicle(query.Get("channel")), nil
	case "view":
		at, err := control.Time(query.Get("at"))
		if err != nil {
			return nil, err
		}
		return s.Screen(query.Get("channel"), at), nil
	case "text":
		return s.reading(query.Get("channel")), nil
	}
	return nil, control.ErrUnknown
}

// reading is what a person reads in a channel now, message by message.
func (s *Server) reading(channel string) []object {
	out := []object{}
	for _, m := range s.Screen(channel, time.Now()).Messages {
		one := object{"ts": m.TS, "thread_ts": m.ThreadTS, "from": m.User, "text": m.Shown()}
		for _, b := range m.Last().Buttons {
			one["button"] = b.Text
		}
		out = append(out, one)
	}
	return out
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
	GraceMS   int    `json:"grace_ms"`
	Off       bool   `json:"off"`
	Published Limits `json:"published"`
	Hidden    Limits `json:"hidden"`
}

func (s *Server) controlPost(r *http.Request, name string) (any, error) {
	switch name {
	case "say":
		return s.controlSay(r.Body)
	case "user":
		var u User
		if err := control.Decode(r.Body, &u); err != nil || u.ID == "" {
			return nil, errors.Join(err, errNeedsID(u.ID))
		}
		s.SetUser(u)
		return struct{}{}, nil
	case "channel":
		var c Channel
		if err := control.Decode(r.Body, &c); err != nil || c.ID == "" {
			return nil, errors.Join(err, errNeedsID(c.ID))
		}
		s.SetChannel(c)
		return struct{}{}, nil
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
	ts, err := s.say(in)
	if err != nil {
		return nil, err
	}
	return map[string]string{"channel": orElse(in.Channel, imOf(orElse(in.User, DefaultUser))), "ts": ts}, nil
}

// content is that of a file.
func (s *Server) content(r *http.Request) (contentType string, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[r.URL.Query().Get("id")]
	if f == nil {
		return "", nil, errors.New("no such file")
	}
	return "application/octet-stream", f.Content, nil
}
