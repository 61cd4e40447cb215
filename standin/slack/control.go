package slack

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"time"

	"telex/standin/rig"
)

// controls returns the controls that the package comment lists.
func (s *Server) controls() rig.Controls {
	type body = controlRequest
	return rig.Controls{
		File: s.content,
		Get: map[string]func(url.Values) (any, error){
			"info":       func(url.Values) (any, error) { return s.info(), nil },
			"channels":   func(url.Values) (any, error) { return s.Channels(), nil },
			"stats":      func(url.Values) (any, error) { return s.Stats(), nil },
			"deliveries": func(q url.Values) (any, error) { return rig.Last(s.Deliveries(), q.Get("last")), nil },
			"commands":   func(url.Values) (any, error) { return s.Commands(), nil },
			"history":    func(q url.Values) (any, error) { return s.Chronicle(q.Get("channel")), nil },
			"text":       func(q url.Values) (any, error) { return s.shownTexts(q.Get("channel")), nil },
			"view":       s.controlView,
		},
		Post: map[string]func(*http.Request) (any, error){
			"say":           rig.Posted(s.controlSay),
			"user":          rig.Done(s.controlUser),
			"channel":       rig.Done(s.controlChannel),
			"edit":          rig.Done(func(c body) error { return rig.Found("message", s.Edit(c.Channel, c.TS, c.Text)) }),
			"delete":        rig.Done(func(c body) error { return rig.Found("message", s.Delete(c.Channel, c.TS)) }),
			"press":         rig.Posted(s.controlPress),
			"command":       rig.Posted(s.controlCommand),
			"assistant":     rig.Posted(func(c body) (any, error) { return map[string]string{"thread_ts": s.OpenAssistant(c.User)}, nil }),
			"home":          rig.Done(func(c body) error { s.OpenHome(c.User); return nil }),
			"prompt":        rig.Posted(s.controlPrompt),
			"context":       rig.Done(func(c body) error { return rig.Found("thread", s.MoveAssistant(c.User, c.TS, c.Channel)) }),
			"stop":          rig.Done(func(c body) error { return rig.Found("session that works", s.StopSession(c.Channel, c.User, c.TS)) }),
			"archive":       rig.Done(func(c body) error { s.Archive(c.Channel, !c.Off); return nil }),
			"remove_bot":    rig.Done(func(c body) error { s.RemoveBot(c.Channel); return nil }),
			"add_bot":       rig.Done(func(c body) error { s.AddBot(c.Channel); return nil }),
			"revoke":        rig.Done(func(c body) error { s.Revoke(!c.Off); return nil }),
			"request_url":   s.controlURL,
			"disconnect":    rig.Done(func(c body) error { s.Disconnect(c.Reason, time.Duration(c.GraceMS)*time.Millisecond); return nil }),
			"cut_sockets":   rig.Posted(func(body) (any, error) { return map[string]int{"sockets": s.CutSockets()}, nil }),
			"stall_sockets": rig.Posted(func(body) (any, error) { return map[string]int{"sockets": s.StallSockets()}, nil }),
			"limits":        rig.Limits(NoLimits(), s.SetLimits),
		},
	}
}

// shownTexts returns the text that each message in a channel shows now.
func (s *Server) shownTexts(channel string) []object {
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

// info returns the data that a program needs to use the stand-in, such as ids and the time.
func (s *Server) info() object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{
		"team_id": TeamID, "app_id": AppID, "bot_user": BotUser, "bot_id": BotID, "user": DefaultUser, "channel": imOf(DefaultUser),
		"request_url": s.requestURL, "started": s.started, "now": time.Now(),
	}
}

// controlRequest contains the fields of all controls that have no request type of their own.
type controlRequest struct {
	Channel string `json:"channel"`
	User    string `json:"user"`
	TS      string `json:"ts"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Button  string `json:"button"`
	Reason  string `json:"reason"`
	URL     string `json:"url"`
	GraceMS int    `json:"grace_ms"`
	Off     bool   `json:"off"`
}

func (s *Server) controlView(query url.Values) (any, error) {
	at, err := rig.Time(query.Get("at"))
	if err != nil {
		return nil, err
	}
	return s.Screen(query.Get("channel"), at), nil
}

var errNoID = errors.New("id is missing")

func (s *Server) controlUser(u User) error {
	if u.ID == "" {
		return errNoID
	}
	s.SetUser(u)
	return nil
}

func (s *Server) controlChannel(c Channel) error {
	if c.ID == "" {
		return errNoID
	}
	s.SetChannel(c)
	return nil
}

func (s *Server) controlCommand(c controlRequest) (any, error) {
	id := s.Command(c.Channel, c.User, c.Command, c.Text)
	if id == 0 {
		return nil, errors.New("no commands here")
	}
	return map[string]int{"id": id}, nil
}

func (s *Server) controlPress(c controlRequest) (any, error) {
	id := s.Press(c.Channel, c.User, c.TS, c.Button)
	return map[string]int{"id": id}, rig.Found("button", id != 0)
}

func (s *Server) controlPrompt(c controlRequest) (any, error) {
	ts := s.PressPrompt(c.User, c.TS, c.Button)
	return map[string]string{"ts": ts}, rig.Found("prompt", ts != "")
}

func (s *Server) controlURL(r *http.Request) (any, error) {
	return rig.Done(func(c controlRequest) error { return s.SetRequestURL(r.Context(), c.URL) })(r)
}

func (s *Server) controlSay(in Incoming) (any, error) {
	ts, err := s.say(in)
	if err != nil {
		return nil, err
	}
	return map[string]string{"channel": cmp.Or(in.Channel, imOf(cmp.Or(in.User, DefaultUser))), "ts": ts}, nil
}

// content returns the content of a file.
func (s *Server) content(query url.Values) (contentType string, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[query.Get("id")]
	if f == nil {
		return "", nil, errors.New("no such file")
	}
	return "application/octet-stream", f.Content, nil
}
