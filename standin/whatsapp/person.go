package whatsapp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultUser is the person who acts if a test's call names no person.
const DefaultUser = "US.15550001001"

// Person is a WhatsApp user.
type Person struct {
	// UserID is the business-scoped user id: a country code, a dot, and letters and digits.
	UserID string `json:"user_id"`
	// Phone contains the digits of the phone number.
	Phone string `json:"phone"`
	// HidePhone means that webhooks do not contain the phone number. WhatsApp hides the phone number of people who have a
	// username and whom the business does not know.
	HidePhone bool   `json:"hide_phone,omitempty"`
	Name      string `json:"name"`
	Username  string `json:"username,omitempty"` // such as @ann
	// Blocked means that the person has blocked the business.
	Blocked bool `json:"blocked,omitempty"`
}

// SetPerson adds or replaces a person. If Name or Phone is empty, SetPerson keeps the old value.
func (s *Server) SetPerson(p Person) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.UserID != "" && !userPattern.MatchString(p.UserID) {
		return fmt.Errorf("person: %q is not a business-scoped user id", p.UserID)
	}
	if p.Phone != "" && normalizePhone(p.Phone) != p.Phone {
		return fmt.Errorf("person: %q is not a phone number in digits", p.Phone)
	}
	c, err := s.findOrAdd(cmp.Or(p.UserID, p.Phone))
	if err != nil {
		return err
	}
	if other := s.byPhone[p.Phone]; other != nil && other != c {
		return fmt.Errorf("person: the phone number %s is that of %s", p.Phone, other.person.UserID)
	}
	p.UserID, p.Phone, p.Name = c.person.UserID, cmp.Or(p.Phone, c.person.Phone), cmp.Or(p.Name, c.person.Name)
	delete(s.byPhone, c.person.Phone)
	s.byPhone[p.Phone] = c
	c.person = p
	s.Publish("person", Event{User: p.UserID, Person: &p})
	return nil
}

// Persons returns all known people, sorted by business-scoped user id.
func (s *Server) Persons() []Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Person, 0, len(s.persons))
	for _, c := range s.persons {
		list = append(list, c.person)
	}
	slices.SortFunc(list, func(a, b Person) int { return strings.Compare(a.UserID, b.UserID) })
	return list
}

// find returns the conversation with a person, or nil if the person is unknown. user is a business-scoped user id or a
// phone number.
func (s *Server) find(user string) *conversation {
	user = cmp.Or(user, DefaultUser)
	if c := s.persons[user]; c != nil {
		return c
	}
	return s.byPhone[user]
}

// findOrAdd returns the conversation with a person like find, but creates the person if necessary.
func (s *Server) findOrAdd(user string) (*conversation, error) {
	user = cmp.Or(user, DefaultUser)
	if c := s.find(user); c != nil {
		return c, nil
	}
	p := Person{UserID: user, Name: "Person " + user}
	switch _, rest, _ := strings.Cut(user, "."); {
	case normalizePhone(user) == user:
		p.UserID, p.Phone = "US."+user, user
	case !userPattern.MatchString(user):
		return nil, fmt.Errorf("%q is neither a business-scoped user id nor a phone number in digits", user)
	case normalizePhone(rest) == rest && s.byPhone[rest] == nil:
		p.Phone = rest
	default:
		s.serial++
		p.Phone = fmt.Sprintf("1999%07d", s.serial)
	}
	c := &conversation{person: p}
	s.persons[p.UserID], s.byPhone[p.Phone] = c, c
	s.Publish("person", Event{User: p.UserID, Person: &p})
	return c, nil
}

// contact returns the part of a webhook that describes a person. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids
func (p Person) contact(withUsername bool) object {
	profile := object{"name": p.Name}
	if withUsername && p.Username != "" {
		profile["username"] = p.Username
	}
	contact := object{"profile": profile, "user_id": p.UserID}
	if !p.HidePhone {
		contact["wa_id"] = p.Phone
	}
	return contact
}

// ChangeNumber changes a person's phone number, and with it the business-scoped user id. The conversation continues. If
// the person hides the phone number, the webhook about the change contains only the new user id. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/system
func (s *Server) ChangeNumber(user, phone, userID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(user)
	switch {
	case c == nil:
		return fmt.Errorf("change number: no person %q", user)
	case normalizePhone(phone) != phone || s.byPhone[phone] != nil:
		return fmt.Errorf("change number: %q is not an unused phone number in digits", phone)
	case !userPattern.MatchString(userID) || s.persons[userID] != nil:
		return fmt.Errorf("change number: %q is not an unused business-scoped user id", userID)
	}
	old := c.person
	delete(s.persons, old.UserID)
	delete(s.byPhone, old.Phone)
	c.person.Phone, c.person.UserID = phone, userID
	s.persons[userID], s.byPhone[phone] = c, c
	s.lastByUser[userID] = s.lastByUser[old.UserID]
	for _, m := range c.messages {
		m.User = userID
	}
	system := object{"type": "user_changed_number", "user_id": userID, "wa_id": phone, "body": fmt.Sprintf("User %s changed from %s to %s", old.Name, old.Phone, phone)}
	item := object{"type": "system", "system": system, "from": old.Phone, "from_user_id": old.UserID}
	if old.HidePhone {
		system["type"], system["body"] = "user_changed_user_id", fmt.Sprintf("User %s changed from %s to %s", old.Name, old.UserID, userID)
		delete(system, "wa_id")
		delete(item, "from")
	}
	id := s.nextMessageID(userID)
	item["id"], item["timestamp"] = id, stamp(time.Now())
	s.notify(&webhookItem{user: userID, message: id, kind: kindMessage, item: item})
	s.Publish("person", Event{User: userID, Person: &c.person})
	return nil
}

// stamp formats a time for a webhook: in seconds since 1970.
func stamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
