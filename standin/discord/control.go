package discord

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"telex/standin/rig"
)

// controls returns the controls that the package comment lists.
func (s *Server) controls() rig.Controls {
	return rig.Controls{
		File: s.content,
		Get: map[string]func(url.Values) (any, error){
			"info":         func(url.Values) (any, error) { return s.info(), nil },
			"channels":     func(url.Values) (any, error) { return s.Channels(), nil },
			"stats":        func(url.Values) (any, error) { return s.Stats(), nil },
			"dm":           s.controlDM,
			"interactions": func(url.Values) (any, error) { return s.Interactions(), nil },
			"commands":     func(q url.Values) (any, error) { return append([]Command{}, s.Commands(q.Get("guild"))...), nil }, // never null
			"history":      func(q url.Values) (any, error) { return s.Chronicle(q.Get("channel")), nil },
			"text":         func(q url.Values) (any, error) { return s.shownTexts(q.Get("channel")), nil },
			"view":         s.controlView,
		},
		Post: map[string]func(*http.Request) (any, error){
			"say":            rig.Posted(s.controlSay),
			"slash":          rig.Posted(s.controlSlash),
			"gateway":        rig.Posted(s.controlGateway),
			"about":          rig.Posted(s.controlAbout),
			"press":          controlCall(s.controlPress),
			"thread":         controlCall(s.controlThread),
			"delete":         controlCallWithoutResult(s.controlDelete),
			"content":        controlCallWithoutResult(func(c controlRequest) error { s.AllowContent(c.Content == nil || *c.Content); return nil }),
			"delete_channel": controlCallWithoutResult(func(c controlRequest) error { return s.DeleteChannel(c.Channel) }),
			"archive":        controlCallWithoutResult(func(c controlRequest) error { return s.Archive(c.Channel, c.Archived == nil || *c.Archived, c.Locked) }),
			"permit":         controlCallWithoutResult(func(c controlRequest) error { return s.Permit(c.Channel, c.Access) }),
			"block":          controlCallWithoutResult(func(c controlRequest) error { s.Block(c.User, c.Blocked == nil || *c.Blocked); return nil }),
			"kick":           controlCallWithoutResult(func(c controlRequest) error { s.Kick(c.Guild); return nil }),
			"invite":         controlCallWithoutResult(func(c controlRequest) error { s.Invite(c.Guild); return nil }),
			"role":           controlCallWithoutResult(func(c controlRequest) error { s.AddRole(c.Role); return nil }),
			"limits":         rig.Limits(NoLimits(), s.SetLimits),
		},
	}
}

// controlCall returns a control that concerns people and channels. The control validates the ids of the people and
// channels before it calls the function do.
func controlCall(do func(controlRequest) (any, error)) func(*http.Request) (any, error) {
	return rig.Posted(func(c controlRequest) (any, error) {
		for _, id := range []string{c.Guild, c.User, c.Role} {
			if id != "" && !isSnowflake(id) {
				return nil, fmt.Errorf("%q is not an id", id)
			}
		}
		return do(c)
	})
}

// controlCallWithoutResult is controlCall for controls that return no result.
func controlCallWithoutResult(do func(controlRequest) error) func(*http.Request) (any, error) {
	return controlCall(func(c controlRequest) (any, error) { return struct{}{}, do(c) })
}

// content returns the content of an attachment.
func (s *Server) content(query url.Values) (contentType string, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[query.Get("id")]
	if !ok {
		return "", nil, errors.New("no such file")
	}
	return cmp.Or(f.ContentType, "application/octet-stream"), f.Content, nil
}

// info returns the data that a program needs to use the stand-in, such as ids and the time.
func (s *Server) info() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{
		"bot": s.me, "started": s.started, "now": time.Now(), "person": DefaultPerson, "guild": DefaultGuild, "channel": DefaultChannel,
	}
}

func (s *Server) controlDM(query url.Values) (any, error) {
	user := cmp.Or(query.Get("user"), DefaultPerson)
	if !isSnowflake(user) {
		return nil, fmt.Errorf("user: id expected, got %q", user)
	}
	return map[string]string{"channel": s.DM(user)}, nil
}

func (s *Server) controlView(query url.Values) (any, error) {
	at, err := rig.Time(query.Get("at"))
	if err != nil {
		return nil, err
	}
	return s.Screen(query.Get("channel"), at), nil
}

// shownTexts returns the text that each message in a channel shows now.
func (s *Server) shownTexts(channel string) []map[string]any {
	out := []map[string]any{}
	for _, m := range s.Screen(channel, time.Now()).Messages {
		one := map[string]any{"id": m.ID, "from": m.From.Username, "text": m.Content()}
		if m.OnlyFor != "" {
			one["only_for"] = m.OnlyFor
		}
		for _, b := range m.Last().Buttons {
			one["button"] = b.Label
		}
		out = append(out, one)
	}
	return out
}

// controlRequest contains the fields of all controls that have no request type of their own.
type controlRequest struct {
	Channel  string   `json:"channel"`
	Guild    string   `json:"guild"`
	User     string   `json:"user"`
	Message  string   `json:"message"`
	Messages []string `json:"messages"`
	Content  *bool    `json:"content"`
	CustomID string   `json:"custom_id"`
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Blocked  *bool    `json:"blocked"`
	Archived *bool    `json:"archived"`
	Locked   bool     `json:"locked"`
	Access   Access   `json:"access"`
}

func (s *Server) controlSlash(in Invocation) (any, error) {
	id, err := s.Slash(in)
	return map[string]string{"interaction": id}, err
}

func (s *Server) controlAbout(in Invocation) (any, error) {
	id, err := s.About(in)
	return map[string]string{"interaction": id}, err
}

func (s *Server) controlDelete(c controlRequest) error {
	if len(c.Messages) > 0 {
		return s.DeleteAll(c.Channel, c.Messages...)
	}
	return s.Delete(c.Channel, c.Message)
}

func (s *Server) controlGateway(d Disturbance) (any, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return map[string]int{"connections": s.Gateway(d)}, nil
}

func (s *Server) controlPress(c controlRequest) (any, error) {
	id, err := s.Press(c.Channel, c.Message, c.CustomID, c.User)
	return map[string]string{"interaction": id}, err
}

func (s *Server) controlThread(c controlRequest) (any, error) {
	id, err := s.StartThread(c.Channel, c.Message, c.Name)
	return map[string]string{"channel": id}, err
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
