package discord

import (
	"context"
	"errors"
	"fmt"
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

// content is that of an attachment.
func (s *Server) content(r *http.Request) (contentType string, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[r.URL.Query().Get("id")]
	if !ok {
		return "", nil, errors.New("no such file")
	}
	return orElse(f.ContentType, "application/octet-stream"), f.Content, nil
}

func (s *Server) controlGet(r *http.Request, name string) (any, error) {
	query := r.URL.Query()
	switch name {
	case "info":
		s.mu.Lock()
		defer s.mu.Unlock()
		return map[string]any{
			"bot": s.me, "started": s.started, "now": time.Now(), "person": DefaultPerson, "guild": DefaultGuild, "channel": DefaultChannel,
		}, nil
	case "channels":
		return s.Channels(), nil
	case "dm":
		user := orElse(query.Get("user"), DefaultPerson)
		if !isSnowflake(user) {
			return nil, fmt.Errorf("user: id expected, got %q", user)
		}
		return map[string]string{"channel": s.DM(user)}, nil
	case "stats":
		return s.Stats(), nil
	case "interactions":
		return s.Interactions(), nil
	case "commands":
		return append([]Command{}, s.Commands(query.Get("guild"))...), nil // a list, also of none
	case "calls":
		return control.Last(s.Calls(), query.Get("last")), nil
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
func (s *Server) reading(channel string) []map[string]any {
	out := []map[string]any{}
	for _, m := range s.Screen(channel, time.Now()).Messages {
		one := map[string]any{"id": m.ID, "from": m.From.Username, "text": m.Content()}
		for _, b := range m.Last().Buttons {
			one["button"] = b.Label
		}
		out = append(out, one)
	}
	return out
}

// controlRequest is the union of the bodies of the small controls.
type controlRequest struct {
	Channel   string `json:"channel"`
	Guild     string `json:"guild"`
	User      string `json:"user"`
	Message   string `json:"message"`
	CustomID  string `json:"custom_id"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	Blocked   *bool  `json:"blocked"`
	Archived  *bool  `json:"archived"`
	Locked    bool   `json:"locked"`
	Access    Access `json:"access"`
	Published Limits `json:"published"`
	Hidden    Limits `json:"hidden"`
	Off       bool   `json:"off"`
}

func (s *Server) controlPost(r *http.Request, name string) (any, error) {
	switch name {
	case "say":
		var in Incoming
		if err := control.Decode(r.Body, &in); err != nil {
			return nil, err
		}
		return s.controlSay(in)
	case "slash":
		var in Invocation
		if err := control.Decode(r.Body, &in); err != nil {
			return nil, err
		}
		id, err := s.Slash(in)
		return map[string]string{"interaction": id}, err
	case "fault":
		var f Fault
		if err := errors.Join(control.Decode(r.Body, &f), f.check()); err != nil {
			return nil, err
		}
		return map[string]int{"id": s.Fault(f)}, nil
	case "gateway":
		var d Disturbance
		if err := errors.Join(control.Decode(r.Body, &d), d.check()); err != nil {
			return nil, err
		}
		return map[string]int{"connections": s.Gateway(d)}, nil
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
	if name != "limits" {
		return s.controlPeople(name, c)
	}
	if c.Off {
		c.Published = NoLimits()
	}
	s.SetLimits(c.Published, c.Hidden)
	return struct{}{}, nil
}

// controlPeople is what people do, and moderators.
func (s *Server) controlPeople(name string, c controlRequest) (any, error) {
	for _, id := range []string{c.Guild, c.User, c.Role} {
		if id != "" && !isSnowflake(id) {
			return nil, fmt.Errorf("%q is no id", id)
		}
	}
	var err error
	switch name {
	case "press":
		id, err := s.Press(c.Channel, c.Message, c.CustomID, c.User)
		return map[string]string{"interaction": id}, err
	case "thread":
		id, err := s.StartThread(c.Channel, c.Message, c.Name)
		return map[string]string{"channel": id}, err
	case "delete":
		err = s.Delete(c.Channel, c.Message)
	case "delete_channel":
		err = s.DeleteChannel(c.Channel)
	case "archive":
		err = s.Archive(c.Channel, c.Archived == nil || *c.Archived, c.Locked)
	case "permit":
		err = s.Permit(c.Channel, c.Access)
	case "block":
		s.Block(c.User, c.Blocked == nil || *c.Blocked)
	case "kick":
		s.Kick(c.Guild)
	case "invite":
		s.Invite(c.Guild)
	case "role":
		s.AddRole(c.Role)
	default:
		err = control.ErrUnknown
	}
	return struct{}{}, err
}

func (s *Server) controlSay(in Incoming) (any, error) {
	id, err := s.Say(in)
	if err != nil {
		return nil, err
	}
	if in.Channel == "" {
		in.Channel = s.DM(in.User)
	}
	return map[string]string{"channel": in.Channel, "message": id}, nil
}
