package homeassistant

import (
	"cmp"
	"fmt"
	"time"

	"telex/standin/rig"
)

// Panel is the Place of the notifications that Home Assistant's frontend shows in its side bar.
const Panel = "persistent_notification"

// Notification is a notification that people see, with all its versions.
type Notification struct {
	// ID is the notification_id if the notification is in the panel. Notifications outside of the panel have a generated
	// id.
	ID string `json:"id"`
	// Place is Panel, or the notify action or entity that sent the notification.
	Place string `json:"place"`
	// FromBot means that the bot created the notification, and not Home Assistant itself.
	FromBot bool `json:"from_bot"`
	rig.Seen[TextVersion]
}

// TextVersion is the text that a notification showed from the time At until the next version.
type TextVersion struct {
	At time.Time `json:"at"`
	// Method is the service that made the version, or "core" if Home Assistant itself made the version.
	Method string `json:"method"`
	Title  string `json:"title,omitempty"`
	Text   string `json:"text"`
}

// Since returns when the version was first shown.
func (v TextVersion) Since() time.Time { return v.At }

// Text returns the text of the newest version.
func (n Notification) Text() string { return n.Last().Text }

func (n *Notification) clone() Notification {
	c := *n
	c.Seen = n.Copy()
	return c
}

// show adds a notification to the panel, or overwrites the notification with the same id. The caller holds s.mu.
// Source: homeassistant/components/persistent_notification/__init__.py.
func (s *Server) show(id string, v TextVersion, bot bool) {
	v.At = time.Now()
	if id == "" {
		s.serial++
		id = fmt.Sprintf("%032x", s.serial)
	}
	n := s.current[id]
	if n == nil {
		n = &Notification{ID: id, Place: Panel, FromBot: bot, Seen: rig.Seen[TextVersion]{Versions: []TextVersion{v}}}
		s.current[id] = n
		s.notifications = append(s.notifications, n)
		s.stats.Notifications++
		s.Publish("notification", Event{Place: Panel, Notification: n})
		return
	}
	if bot {
		s.stats.Edits++
		if last := n.Last(); last.Title == v.Title && last.Text == v.Text {
			s.stats.NotModified++
		}
		if !n.FromBot {
			s.recordViolation(ForeignNotification, v.Method, "notification "+id+" is not the bot's")
		}
	}
	n.Versions = append(n.Versions, v)
	s.Publish("edit", Event{Place: Panel, Notification: n})
}

// send sends a message to a notify target, such as a phone. The bot can't change or remove such a message later. The
// caller holds s.mu.
func (s *Server) send(target string, v TextVersion) {
	s.serial++
	v.At = time.Now()
	n := &Notification{
		ID: fmt.Sprintf("sent-%d", s.serial), Place: target, FromBot: true,
		Seen: rig.Seen[TextVersion]{Versions: []TextVersion{v}},
	}
	s.notifications = append(s.notifications, n)
	s.stats.Notifications++
	s.Publish("notification", Event{Place: target, Notification: n})
}

// dismiss removes a notification from the panel, and reports whether it existed. The caller holds s.mu.
func (s *Server) dismiss(id, by string) bool {
	n := s.current[id]
	if n == nil {
		return false
	}
	n.Deleted, n.DeletedBy = time.Now(), by
	delete(s.current, id)
	s.Publish("dismiss", Event{Place: Panel, Notification: n})
	return true
}

// Dismiss removes a notification from the panel, as if a person had dismissed it.
func (s *Server) Dismiss(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dismiss(id, "person")
}

// clearPanel removes all notifications from the panel. A restart clears the panel, because Home Assistant keeps
// notifications only in memory. The caller holds s.mu.
func (s *Server) clearPanel() {
	for _, n := range s.notifications {
		if s.current[n.ID] == n {
			s.dismiss(n.ID, "restart")
		}
	}
}

// loginFailed adds the notification http-login, which says that somebody used a wrong token. The caller holds s.mu.
// Source: homeassistant/components/http/ban.py, process_wrong_login.
func (s *Server) loginFailed() {
	s.stats.FailedLogins++
	s.show("http-login", TextVersion{
		Method: "core", Title: "Login attempt failed",
		Text: "Login attempt or request with invalid authentication from localhost (127.0.0.1). See the log for details.",
	}, false)
}

// History returns a copy of all notifications in a place, in the order of their creation. The place "" means all
// places.
func (s *Server) History(where string) []Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Notification{}
	for _, n := range s.notifications {
		if where == "" || where == n.Place {
			list = append(list, n.clone())
		}
	}
	return list
}

// Screen contains the notifications that a person saw at one moment.
type Screen struct {
	At            time.Time      `json:"at"`
	Notifications []Notification `json:"notifications"`
}

// In returns the notifications that the screen shows in the given place.
func (s Screen) In(where string) []Notification {
	var list []Notification
	for _, n := range s.Notifications {
		if n.Place == where {
			list = append(list, n)
		}
	}
	return list
}

// Screen returns a copy of the notifications that were visible at a moment.
func (s *Server) Screen(at time.Time) Screen {
	screen := Screen{At: at, Notifications: []Notification{}}
	for _, n := range s.History("") {
		if seen, visible := n.At(at); visible {
			n.Seen = seen
			screen.Notifications = append(screen.Notifications, n)
		}
	}
	return screen
}

// shownTexts returns the texts that a person reads in a place now.
func (s *Server) shownTexts(where string) []object {
	list := []object{}
	for _, n := range s.Screen(time.Now()).In(cmp.Or(where, Panel)) {
		list = append(list, object{"id": n.ID, "title": n.Last().Title, "text": n.Text(), "from_bot": n.FromBot})
	}
	return list
}
