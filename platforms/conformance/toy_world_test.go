package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// The following methods represent what people can do and see on the toy platform.

func (b *toyBot) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	if err := b.call(ctx, 0, chat.Target{}, func() error { return nil }); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	next, _ := strconv.Atoi(from.Cursor) // next is 0 if there is no cursor
	for {
		b.mu.Lock()
		list, news := slices.Clone(b.inbox[min(next, len(b.inbox)):]), b.news
		b.mu.Unlock()
		if len(list) == 0 {
			select {
			case <-news:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for _, in := range list {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			next++
			in.Resume = strconv.Itoa(next)
			if in.To.Chat == "" { // a message without a chat represents an update that can't be decoded
				if b.has("trips over rubbish") {
					return &chat.SendError{Kind: chat.Temporary, Err: errors.New("what is that?")}
				}
				continue
			}
			if err := accept(ctx, in); err != nil && !b.has("confirms too early") {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("accept: %w", err)
			}
		}
	}
}

func (b *toyBot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	temporary := func(why error) error { return &chat.SendError{Kind: chat.Temporary, Err: why} }
	switch b.how {
	case WrongSecret:
		return nil, &chat.SendError{Kind: chat.Auth}
	case Unreachable:
		return nil, temporary(errors.New("nobody answers"))
	case Proper:
	}
	b.mu.Lock()
	content, there := b.files[a.ID]
	fault := Fault(255)
	if len(b.fetching) > 0 {
		fault, b.fetching = b.fetching[0], b.fetching[1:]
	}
	b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, temporary(ctx.Err())
	case fault == Hang:
		<-ctx.Done()
		return nil, temporary(ctx.Err())
	case fault == RateLimit:
		return nil, &chat.SendError{Kind: chat.RateLimited, RetryAfter: RetryAfter}
	case fault != 255:
		return nil, temporary(errors.New("broken off"))
	case !there:
		return nil, &chat.SendError{Kind: chat.Gone}
	case int64(len(content)) > limit:
		return nil, chat.ErrTooLarge
	}
	return content, nil
}

func (b *toyBot) SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	if slices.ContainsFunc(commands, func(c chat.CommandSpec) bool { return strings.Contains(c.Name, " ") }) {
		return &chat.SendError{Kind: chat.Rejected}
	}
	return b.call(ctx, 0, chat.Target{}, func() error {
		if !slices.Equal(b.menu, commands) || !slices.Equal(b.admins, admins) {
			b.menu, b.admins = commands, admins
			b.changes++
		}
		return nil
	})
}

func (y *toy) Connect(log *slog.Logger, how Connection) Adapter {
	return &toyBot{y, log, how, map[chat.MessageID]bool{}}
}

func (y *toy) Secrets() []string { return []string{toySecret} }

func (y *toy) Private() chat.Target { return chat.Target{Chat: "ann"} }

func (y *toy) Group() chat.Target { return chat.Target{Chat: "club", Thread: "talk", Kind: chat.Group} }

func (y *toy) Channel() chat.Target { return chat.Target{Chat: "club", Kind: chat.Group} }

func (y *toy) Crowd(n int) []chat.Target {
	list := make([]chat.Target, n)
	for i := range list {
		list[i].Chat = chat.ChatID(fmt.Sprintf("person%d", i))
	}
	return list
}

// standing calls f for each of the bot's messages in a chat, except for deleted messages.
func (y *toy) standing(to chat.Target, f func(m *toyMessage)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, m := range y.messages {
		if m.own && !m.deleted && m.to == to {
			_, _ = y.find(chat.MessageRef{Target: to, ID: m.id}) // call find, because find ends a stream whose time is over
			f(m)
		}
	}
}

func (y *toy) Shown(to chat.Target) (list []string) {
	y.standing(to, func(m *toyMessage) { list = append(list, m.text()) })
	return list
}

func (y *toy) Files(to chat.Target) (list []File) {
	y.standing(to, func(m *toyMessage) {
		if m.file != nil {
			list = append(list, *m.file)
		}
	})
	return list
}

func (y *toy) Streaming(to chat.Target) (list []string) {
	y.standing(to, func(m *toyMessage) {
		if !m.ends.IsZero() {
			list = append(list, m.text())
		}
	})
	return list
}

func (y *toy) Broken(to chat.Target) (list []string) {
	y.standing(to, func(m *toyMessage) {
		if m.broken {
			list = append(list, m.text())
		}
	})
	return list
}

func (y *toy) StreamLife() time.Duration { return toyLife }

func (y *toy) Drafts(to chat.Target) []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	if d, ok := y.drafts[to]; ok && time.Now().Before(d.ends) {
		return []string{d.text}
	}
	return nil
}

func (y *toy) Calls(op chat.Op) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.calls[op]
}

func (y *toy) Break(op chat.Op, f Fault) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults[op] = append(y.faults[op], f)
}

func (y *toy) BreakFetch(f Fault) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.fetching = append(y.fetching, f)
}

func (y *toy) Enforce(r Rates) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.enforced, y.hidden = true, r == Halved
}

func (y *toy) Violations() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.wrong)
}

func (y *toy) Refusals() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.refused
}

func (y *toy) Versions(to chat.Target) (list []Version) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, m := range y.messages {
		if m.own && m.to == to {
			list = append(list, m.versions...)
		}
	}
	return InOrder(list)
}

func (y *toy) Pings(to chat.Target) []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.pings[to])
}

func (y *toy) Opened(to chat.Target) []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.opened[to])
}

func (y *toy) Sample() string {
	return "The plan\n\nSome bold, italic and old words, with code_1 and a link.\n\n• first\n• second\n  ◦ deeper\n\n1. one\n2. two\n\n" +
		"quoted\n\nfmt.Println(\"a < b\")\n\nName    Size\n------  ----\nant        1\nbeetle    20\n\nThat is all."
}

// arrive delivers a message to the bot.
func (y *toy) arrive(in chat.Inbound) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.inbox = append(y.inbox, in)
	if y.repeats {
		y.inbox = append(y.inbox, in)
		if y.has("answers twice") {
			y.inbox[len(y.inbox)-1].ID += "again"
		}
	}
	close(y.news)
	y.news = make(chan struct{})
}

func (y *toy) inbound(to chat.Target) chat.Inbound {
	y.mu.Lock()
	defer y.mu.Unlock()
	in := chat.Inbound{
		To: to, ID: y.newID(), Sender: chat.Sender{ID: chat.UserID("user of " + to.Chat)}, At: time.Now(),
		Addressed: to.Kind == chat.Private, Reply: to.Kind == chat.Group,
	}
	y.messages = append(y.messages, &toyMessage{id: in.ID, to: to, at: in.At, versions: []Version{{}}})
	return in
}

func (y *toy) Say(to chat.Target, s Saying) {
	in := y.inbound(to)
	in.Text = s.Text
	in.Addressed = in.Addressed || s.Mention || s.Command || s.ReplyTo.ID != "" || y.has("answers everybody")
	if to.Kind == chat.Group && to.Thread == "" {
		in.To.Thread = "of " + chat.ThreadID(in.ID)
	}
	if s.Mention && y.has("leaves mentions in") {
		in.Text = "@toy " + in.Text
	}
	if s.Command && !y.has("takes commands for text") {
		name, args, _ := strings.Cut(strings.TrimPrefix(s.Text, "/"), " ")
		in.Kind, in.Command, in.Args = chat.Command, strings.ToLower(name), args
	}
	y.arrive(in)
}

func (y *toy) Ask(to chat.Target, question string) {
	in := y.inbound(to)
	in.Kind, in.Command, in.Args, in.Addressed, in.Reply = chat.Command, "ask", question, true, true
	y.mu.Lock()
	y.waiting[in.ID] = true
	y.mu.Unlock()
	y.arrive(in)
}

func (y *toy) Dangling() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.waiting)
}

func (y *toy) Repeat() { y.repeats = true }

func (y *toy) Attach(to chat.Target, f File, size int64) {
	in := y.inbound(to)
	in.Attachments = []chat.Attachment{{Name: f.Name, Size: size, ID: "file " + string(in.ID)}}
	if f.Content != nil {
		y.mu.Lock()
		y.files[in.Attachments[0].ID] = f.Content
		y.mu.Unlock()
	}
	y.arrive(in)
}

func (y *toy) Menu(to chat.Target) (names []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range y.menu {
		if !c.Admin || to.Kind == chat.Private && slices.Contains(y.admins, chat.UserID("user of "+to.Chat)) {
			names = append(names, c.Name)
		}
	}
	return names
}

func (y *toy) MenuChanges() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.changes
}

func (y *toy) Remove(ref chat.MessageRef) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if m, err := y.find(ref); err == nil {
		m.deleted = true
	}
}

func (y *toy) Ban(to chat.Target) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.banned[to.Chat] = true
}

func (y *toy) Garble() { y.arrive(chat.Inbound{}) }

func (y *toy) Buttons(ref chat.MessageRef) []chat.Action {
	y.mu.Lock()
	defer y.mu.Unlock()
	if m, err := y.find(ref); err == nil {
		return m.actions
	}
	return nil
}

func (y *toy) Press(ref chat.MessageRef, action string) { y.press(ref, action, "") }

func (y *toy) PressAside(ref chat.MessageRef, action string) { y.press(ref, action, "somebody else") }

func (y *toy) press(ref chat.MessageRef, action string, who chat.UserID) {
	in := y.inbound(ref.Target)
	in.Kind, in.Action, in.Addressed, in.Reply = chat.Button, action, true, false
	if !y.has("takes everybody for one") {
		in.Sender.ID = cmp.Or(who, in.Sender.ID)
	}
	y.arrive(in)
}

func (y *toy) Unanswered() int {
	if y.has("leaves presses open") {
		return 1
	}
	return 0
}
