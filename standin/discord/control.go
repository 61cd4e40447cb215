package discord

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

var errNoControl = errors.New("no such control")

// serveControl answers the control API; see the package comment.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		s.refuse(w, http.StatusForbidden, err)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/control/")
	var (
		result any
		err    error
	)
	switch {
	case name == "events" && r.Method == http.MethodGet:
		s.serveEvents(w, r)
		return
	case name == "file" && r.Method == http.MethodGet:
		s.serveFile(w, r)
		return
	case r.Method == http.MethodGet:
		result, err = s.controlGet(r, name)
	case r.Method == http.MethodPost:
		result, err = s.controlPost(w, r, name)
	case r.Method == http.MethodDelete && name == "fault":
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
		s.deliver(w, resultAnswer(result))
	}
	if down, ok := result.(restarted); ok && err == nil {
		s.restart(time.Duration(down.DownMS)*time.Millisecond, connOf(r))
	}
}

func (s *Server) refuse(w http.ResponseWriter, status int, err error) {
	s.deliver(w, answer{status: status, contentType: jsonType, body: encode(map[string]string{"error": err.Error()})})
}

// serveFile answers GET /control/file?id=…: the content of an attachment.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.files[r.URL.Query().Get("id")]
	s.mu.Unlock()
	if !ok {
		s.refuse(w, http.StatusNotFound, errors.New("no such file"))
		return
	}
	s.deliver(w, answer{status: http.StatusOK, contentType: orElse(f.ContentType, "application/octet-stream"), body: f.Content})
}

func (s *Server) controlGet(r *http.Request, name string) (any, error) {
	query := r.URL.Query()
	switch name {
	case "info":
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
		list := s.Calls()
		if n, err := strconv.Atoi(query.Get("last")); err == nil && n >= 0 {
			list = list[max(0, len(list)-n):]
		}
		return list, nil
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
	ID        int    `json:"id"`
	DownMS    int    `json:"down_ms"`
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
		var in Incoming
		if err := decode(http.MaxBytesReader(w, r.Body, maxSay), &in); err != nil {
			return nil, err
		}
		return s.controlSay(in)
	case "slash":
		var in Invocation
		if err := decode(body, &in); err != nil {
			return nil, err
		}
		id, err := s.Slash(in)
		return map[string]string{"interaction": id}, err
	case "fault":
		var f Fault
		if err := errors.Join(decode(body, &f), f.check()); err != nil {
			return nil, err
		}
		return map[string]int{"id": s.Fault(f)}, nil
	case "gateway":
		var d Disturbance
		if err := errors.Join(decode(body, &d), d.check()); err != nil {
			return nil, err
		}
		return map[string]int{"connections": s.Gateway(d)}, nil
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
		return s.controlPeople(name, c)
	}
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
		err = errNoControl
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
