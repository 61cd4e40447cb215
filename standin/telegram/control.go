package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"telex/standin/rig"
)

// controls returns the controls that the package comment lists.
func (s *Server) controls() rig.Controls {
	return rig.Controls{
		File: s.sentFile,
		Get: map[string]func(url.Values) (any, error){
			"info":       func(url.Values) (any, error) { return s.info(), nil },
			"chats":      func(url.Values) (any, error) { return s.Chats(), nil },
			"stats":      func(url.Values) (any, error) { return s.Stats(), nil },
			"commands":   func(url.Values) (any, error) { return append([]Command{}, s.Commands()...), nil }, // JSON: [], never null
			"menu":       s.controlMenu,
			"answers":    func(url.Values) (any, error) { return s.CallbackAnswers(), nil },
			"history":    s.controlHistory,
			"deliveries": func(url.Values) (any, error) { return append([]Delivery{}, s.Deliveries()...), nil }, // JSON: [], never null
			"view":       s.controlView,
		},
		Post: map[string]func(*http.Request) (any, error){
			"say":        rig.Posted(s.controlSay),
			"press":      rig.Posted(s.controlPress),
			"migrate":    rig.Posted(func(c controlRequest) (any, error) { return map[string]int64{"chat": s.Migrate(c.Chat)}, nil }),
			"delete":     rig.Done(func(c controlRequest) error { return rig.Found("message", s.Delete(c.Chat, c.MessageID)) }),
			"stop_draft": rig.Done(func(c controlRequest) error { return rig.Found("draft", s.StopDraft(c.Chat, c.DraftID)) }),
			"limits":     rig.Limits(NoLimits(), s.SetLimits),
			"block":      rig.Done(func(c controlRequest) error { s.Block(c.Chat, c.Blocked == nil || *c.Blocked); return nil }),
			"rich":       rig.Done(func(c controlRequest) error { s.SetRich(c.Rich == nil || *c.Rich); return nil }),
			"deactivate": rig.Done(func(c controlRequest) error { s.Deactivate(c.Chat); return nil }),
			"admin":      rig.Done(s.controlAdmin),
		},
	}
}

// info returns the data that a program needs to use the stand-in, such as ids and the time.
func (s *Server) info() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return struct {
		Bot     User      `json:"bot"`
		Started time.Time `json:"started"`
		Now     time.Time `json:"now"`
	}{s.me, s.started, time.Now()}
}

// number reads an id from the query parameter with the given name. If the parameter is missing, number parses the
// default value in the parameter otherwise.
func number(query url.Values, name, otherwise string) (int64, error) {
	n, err := strconv.ParseInt(cmp.Or(query.Get(name), otherwise), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: number expected, got %q", name, query.Get(name))
	}
	return n, nil
}

func (s *Server) controlMenu(query url.Values) (any, error) {
	chat, err := number(query, "chat", "")
	user, wrong := number(query, "user", "0")
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	return append([]Command{}, s.Menu(chat, user)...), nil // the JSON is [], never null
}

func (s *Server) controlHistory(query url.Values) (any, error) {
	chat, err := number(query, "chat", "")
	if err != nil {
		return nil, err
	}
	return s.Chronicle(chat), nil
}

func (s *Server) controlView(query url.Values) (any, error) {
	chat, err := number(query, "chat", "")
	at, wrong := rig.Time(query.Get("at"))
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	return s.Screen(chat, at), nil
}

// controlRequest contains the fields of all controls that have no request type of their own.
type controlRequest struct {
	Chat      int64  `json:"chat"`
	User      int64  `json:"user"`
	MessageID int    `json:"message_id"`
	Data      string `json:"data"`
	DraftID   int64  `json:"draft_id"`
	Blocked   *bool  `json:"blocked"`
	Admin     *bool  `json:"admin"`
	Rich      *bool  `json:"rich"`
}

func (s *Server) controlPress(c controlRequest) (any, error) {
	id := s.Press(c.Chat, c.User, c.MessageID, c.Data)
	return map[string]string{"query_id": id}, rig.Found("button", id != "")
}

func (s *Server) controlAdmin(c controlRequest) error {
	admin := c.Admin == nil || *c.Admin
	if c.User != 0 {
		s.SetPersonAdmin(c.Chat, c.User, admin)
	} else {
		s.SetAdmin(c.Chat, admin)
	}
	return nil
}

func (s *Server) controlSay(in Incoming) (any, error) {
	said, err := in.parse()
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
	answer := struct {
		Chat       int64 `json:"chat"`
		MessageID  int   `json:"message_id"`
		MessageIDs []int `json:"message_ids,omitempty"` // ids of an album
	}{Chat: cmp.Or(in.Chat, cmp.Or(in.User, defaultUser)), MessageID: ids[0]}
	if len(ids) > 1 {
		answer.MessageIDs = ids
	}
	return answer, nil
}
