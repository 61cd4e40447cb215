package homeassistant

import (
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
		File: func(url.Values) (string, []byte, error) { return "", nil, errors.New("there are no files here") },
		Get: map[string]func(url.Values) (any, error){
			"info":    func(url.Values) (any, error) { return s.info(), nil },
			"states":  func(q url.Values) (any, error) { return s.controlStates(q.Get("entity_id")) },
			"stats":   func(url.Values) (any, error) { return s.Stats(), nil },
			"history": func(q url.Values) (any, error) { return s.History(q.Get("place")), nil },
			"text":    func(q url.Values) (any, error) { return s.shownTexts(q.Get("place")), nil },
			"view":    s.controlView,
		},
		Post: map[string]func(*http.Request) (any, error){
			"set_state": rig.Posted(func(c Change) (any, error) {
				fired, err := s.apply([]Change{c})
				return map[string]bool{"fired": fired == 1}, err
			}),
			"burst": rig.Posted(func(c body) (any, error) {
				fired, err := s.apply(c.Changes)
				return map[string]int{"fired": fired}, err
			}),
			"remove":        rig.Done(func(c body) error { return rig.Found("entity", s.Remove(c.Entity)) }),
			"fire":          rig.Done(func(c body) error { return s.FireEvent(c.EventType, c.Data) }),
			"dismiss":       rig.Done(func(c body) error { return rig.Found("notification", s.Dismiss(c.Notification)) }),
			"revoke":        rig.Done(func(c body) error { s.Revoke(!c.Off); return nil }),
			"cut_sockets":   rig.Posted(func(body) (any, error) { return map[string]int{"sockets": s.CutSockets()}, nil }),
			"stall_sockets": rig.Posted(func(body) (any, error) { return map[string]int{"sockets": s.StallSockets()}, nil }),
		},
	}
}

// controlRequest contains the fields of all controls that have no request type of their own.
type controlRequest struct {
	Entity       string         `json:"entity_id"`
	Changes      []Change       `json:"changes"`
	EventType    string         `json:"event_type"`
	Data         map[string]any `json:"data"`
	Notification string         `json:"notification_id"`
	Off          bool           `json:"off"`
}

// info returns the data that a program needs to use the stand-in, such as ids and the time.
func (s *Server) info() object {
	s.mu.Lock()
	defer s.mu.Unlock()
	entities := []string{}
	for _, state := range s.sorted() {
		entities = append(entities, state.Entity)
	}
	return object{"version": Version, "user_id": BotUser, "entities": entities, "started": s.started, "now": time.Now()}
}

func (s *Server) controlStates(entity string) (any, error) {
	if entity == "" {
		return s.States(), nil
	}
	state, ok := s.State(entity)
	return []State{state}, rig.Found("entity", ok)
}

func (s *Server) controlView(query url.Values) (any, error) {
	at, err := rig.Time(query.Get("at"))
	if err != nil {
		return nil, err
	}
	return s.Screen(at), nil
}
