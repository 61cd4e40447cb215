package conformance

import (
	"slices"

	"telex/gateway"
	"telex/internal/chat"
)

// menuCases returns the cases about the commands in a platform's menu.
func menuCases() []testCase {
	offered := []chat.CommandSpec{
		{Name: "new", Description: "Start anew"},
		{Name: "pair", Description: "Let <somebody> & others in", Admin: true},
		{Name: "stop", Description: " Stop the answer "}, // the platform may remove the spaces at both ends of the description
	}
	return []testCase{
		{"the menu offers each command to the right people", with((*scene).menu, func(s *scene, m gateway.Menu) {
			s.setCommands(m, offered)
			s.wantMenu(s.Private(), "new", "stop")
			s.wantMenu(s.Group(), "new", "stop")
			s.setCommands(m, offered, s.writer())
			s.wantMenu(s.Private(), "new", "pair", "stop")
			s.wantMenu(s.Group(), "new", "stop")
		})},
		{"a menu that is already set is not set again", with((*scene).menu, func(s *scene, m gateway.Menu) {
			admin := s.writer()
			s.setCommands(m, offered, admin)
			before := s.MenuChanges()
			s.setCommands(m, offered, admin)
			if got := s.MenuChanges(); got != before || got == 0 {
				s.Errorf("there were %d changes and then %d, want some and then no more", before, got)
			}
			reworded := slices.Clone(offered)
			reworded[2].Description = "Stop it"
			s.setCommands(m, reworded, admin)
			if got := s.MenuChanges(); got <= before {
				s.Errorf("there were %d changes and then %d, want more for another description", before, got)
			}
		})},
		{"the menu contains only the commands that were set last", with((*scene).menu, func(s *scene, m gateway.Menu) {
			admin := s.writer()
			s.setCommands(m, offered, admin)
			s.setCommands(m, offered[1:], admin)
			s.wantMenu(s.Private(), "pair", "stop")
			s.wantMenu(s.Group(), "stop")
			s.setCommands(m, nil, admin)
			s.wantMenu(s.Private())
			s.wantMenu(s.Group())
		})},
		{"an invalid command name is refused before the menu changes", with((*scene).menu, func(s *scene, m gateway.Menu) {
			odd := append(slices.Clone(offered), chat.CommandSpec{Name: "not a name", Description: "x"})
			s.wantKind(m.SetCommands(s.Context(), odd, nil), chat.Rejected)
			if got := s.MenuChanges(); got != 0 {
				s.Errorf("there were %d changes, want none", got)
			}
		})},
		{"a failure to set the menu is an error without a secret", with((*scene).menu, func(s *scene, _ gateway.Menu) {
			for how, want := range map[Connection]chat.ErrorKind{WrongSecret: chat.Auth, Unreachable: chat.Temporary} {
				if other, ok := s.connect(how).(gateway.Menu); ok {
					s.wantKind(other.SetCommands(s.Context(), offered, nil), want)
				}
			}
		})},
	}
}

// writer makes the person in the private chat write a message to the bot, and returns the person's id.
func (s *scene) writer() chat.UserID {
	s.Helper()
	r := s.start("")
	r.take()
	s.Say(s.Private(), Saying{Text: "it's me"})
	in := s.one(r)
	r.stop(s)
	return in.Sender.ID
}

func (s *scene) setCommands(m gateway.Menu, list []chat.CommandSpec, admins ...chat.UserID) {
	s.Helper()
	if err := m.SetCommands(s.Context(), list, admins); err != nil {
		s.Errorf("SetCommands: %v", err)
	}
}

func (s *scene) wantMenu(to chat.Target, want ...string) {
	s.Helper()
	if got := s.Menu(to); !slices.Equal(got, want) {
		s.Errorf("offered are %q, want %q", got, want)
	}
}
