package whatsapp

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
		File: s.file,
		Get: map[string]func(url.Values) (any, error){
			"info":       func(url.Values) (any, error) { return s.info(), nil },
			"persons":    func(url.Values) (any, error) { return s.Persons(), nil },
			"stats":      func(url.Values) (any, error) { return s.Stats(), nil },
			"deliveries": func(q url.Values) (any, error) { return rig.Last(s.Deliveries(), q.Get("last")), nil },
			"history":    func(q url.Values) (any, error) { return s.Chronicle(q.Get("user")), nil },
			"text":       func(q url.Values) (any, error) { return s.shownTexts(q.Get("user")), nil },
			"view":       s.controlView,
		},
		Post: map[string]func(*http.Request) (any, error){
			"say":           rig.Posted(s.controlSay),
			"press":         rig.Posted(s.controlPress),
			"react":         rig.Done(func(c body) error { return s.React(c.User, c.Message, c.Emoji) }),
			"edit":          rig.Done(func(c body) error { return s.Edit(c.User, c.Message, c.Text) }),
			"delete":        rig.Done(func(c body) error { return s.Revoke(c.User, c.Message) }),
			"read":          rig.Done(func(c body) error { s.Read(c.User); return nil }),
			"person":        rig.Done(s.SetPerson),
			"change_number": rig.Done(func(c body) error { return s.ChangeNumber(c.User, c.Phone, c.UserID) }),
			"redeliver":     rig.Posted(func(body) (any, error) { return map[string]int{"webhooks": s.Redeliver()}, nil }),
			"callback":      s.controlCallback,
			"verify":        s.controlVerify,
			"expire_token":  rig.Done(func(c body) error { s.ExpireToken(!c.Off); return nil }),
			"limits":        rig.Limits(NoLimits(), s.SetLimits),
		},
	}
}

// controlRequest contains the fields of all controls that have no request type of their own.
type controlRequest struct {
	User    string `json:"user"`
	Message string `json:"message"`
	Button  string `json:"button"`
	Emoji   string `json:"emoji"`
	Text    string `json:"text"`
	Phone   string `json:"phone"`
	UserID  string `json:"user_id"`
	URL     string `json:"url"`
	Token   string `json:"token"`
	Off     bool   `json:"off"`
}

// file returns the content of a file.
func (s *Server) file(query url.Values) (contentType string, data []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.media[query.Get("id")]
	if m == nil {
		return "", nil, errors.New("no such file")
	}
	return m.Mime, m.Content, nil
}

// info returns the data that a program needs to use the stand-in, such as ids and the time.
func (s *Server) info() object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{
		"phone_number_id": s.opts.PhoneNumberID, "number": Number, "account_id": AccountID, "user": DefaultUser,
		"callback_url": s.callback, "started": s.started, "now": time.Now(),
	}
}

// shownTexts returns the text that each message in a conversation shows now.
func (s *Server) shownTexts(user string) []object {
	out := []object{}
	for _, m := range s.Screen(user, time.Now()).Messages {
		from := "person"
		if m.FromBot {
			from = "business"
		}
		one := object{"id": m.ID, "from": from, "type": m.Type, "text": m.Shown()}
		var titles []string
		for _, b := range m.Last().Buttons {
			titles = append(titles, b.Title)
		}
		if len(titles) > 0 {
			one["buttons"] = titles
		}
		out = append(out, one)
	}
	return out
}

func (s *Server) controlView(query url.Values) (any, error) {
	at, err := rig.Time(query.Get("at"))
	if err != nil {
		return nil, err
	}
	return s.Screen(query.Get("user"), at), nil
}

func (s *Server) controlSay(in Incoming) (any, error) {
	id, err := s.Say(in)
	if err != nil {
		return nil, err
	}
	return map[string]string{"message": id}, nil
}

func (s *Server) controlPress(c controlRequest) (any, error) {
	id, err := s.Press(c.User, c.Message, c.Button)
	if err != nil {
		return nil, err
	}
	return map[string]string{"message": id}, nil
}

func (s *Server) controlCallback(r *http.Request) (any, error) {
	return rig.Done(func(c controlRequest) error { return s.SetCallback(r.Context(), c.URL) })(r)
}

func (s *Server) controlVerify(r *http.Request) (any, error) {
	return rig.Done(func(c controlRequest) error {
		return s.Verify(r.Context(), c.URL, cmp.Or(c.Token, s.opts.VerifyToken))
	})(r)
}
