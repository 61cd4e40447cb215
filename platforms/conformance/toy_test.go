package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/internal/markup"
)

// toy is an in-memory platform that has every feature. The tests of the conformance suite use toy. The field flaw names
// the mistake that the adapter of toy makes, and that the suite must find.
type toy struct {
	mu       sync.Mutex
	flaw     string
	enforced bool
	hidden   bool
	messages []*toyMessage
	drafts   map[chat.Target]toyDraft
	inbox    []chat.Inbound
	news     chan struct{} // closed and replaced by a new channel when a message arrives
	repeats  bool
	faults   map[chat.Op][]Fault
	fetching []Fault
	calls    map[chat.Op]int
	used     map[chat.ChatID][]time.Time
	blocked  map[chat.ChatID]time.Time
	banned   map[chat.ChatID]bool
	files    map[string][]byte
	menu     []chat.CommandSpec
	admins   []chat.UserID
	changes  int
	waiting  map[chat.MessageID]bool // ids of questions asked with a slash command that still look unanswered
	wrong    []string
	refused  int
	pings    map[chat.Target][]string
	opened   map[chat.Target][]string
}

// toyMessage is a message that the bot or a person wrote. A toyMessage remains in the list of messages after its
// deletion.
type toyMessage struct {
	id       chat.MessageID
	to       chat.Target
	own      bool
	key      string
	at       time.Time
	versions []Version
	deleted  bool
	actions  []chat.Action
	file     *File
	ends     time.Time // for a stream: when the platform ends it; for other messages: zero
	broken   bool
}

func (m *toyMessage) text() string { return m.versions[len(m.versions)-1].Text }

func (m *toyMessage) change(text string) {
	m.versions = append(m.versions, Version{At: time.Now(), Message: string(m.id), Text: text})
}

type toyDraft struct {
	text string
	ends time.Time
}

const (
	toySecret   = "the toy's secret"
	toyLatency  = 20 * time.Millisecond
	toyLimit    = 2500
	toyDraftFor = 30 * time.Second
	toyLife     = 5 * time.Minute
	toyKeyFor   = 2 * time.Minute
	toyRate     = 20 // maximum number of calls in a chat within toyWindow
	toyWindow   = 20 * time.Second
)

func newToy(flaw string) *toy {
	return &toy{
		flaw: flaw, drafts: map[chat.Target]toyDraft{}, news: make(chan struct{}), faults: map[chat.Op][]Fault{},
		calls: map[chat.Op]int{}, used: map[chat.ChatID][]time.Time{}, blocked: map[chat.ChatID]time.Time{},
		banned: map[chat.ChatID]bool{}, files: map[string][]byte{}, waiting: map[chat.MessageID]bool{}, pings: map[chat.Target][]string{}, opened: map[chat.Target][]string{},
	}
}

// has reports whether the adapter of toy makes the given mistake.
func (y *toy) has(flaw string) bool { return y.flaw == flaw }

// toyBot is the adapter of toy.
type toyBot struct {
	*toy
	log  *slog.Logger
	how  Connection
	sent map[chat.MessageID]bool // messages that this process sent
}

func (b *toyBot) Capabilities() chat.Capabilities {
	return chat.Capabilities{
		Edit: true, Delete: true, Typing: true, File: true, Draft: true, Stream: true, Find: true, Fetch: true,
		Menu: !b.has("promises too much"), Concludes: true, Buttons: true,
	}
}

func (b *toyBot) Profile(to chat.Target) chat.Profile {
	p := chat.Profile{
		TextLimit: toyLimit, EditInterval: 1200 * time.Millisecond, TypingEvery: 4 * time.Second, KeyFor: toyKeyFor - 20*time.Second,
		Limits: []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpAll &^ chat.OpTyping, Count: toyRate - 4, Window: toyWindow, Burst: 5}},
	}
	if b.has("believes in more") {
		p.Limits[0].Count, p.Limits[0].Burst, p.EditInterval = 3*toyRate, 3*toyRate, 400*time.Millisecond
	}
	if b.has("never ends a stream") {
		p.StreamFor = 2 * toyLife
	}
	if to.Kind == chat.Private {
		p.DraftFor = toyDraftFor - 5*time.Second
		return p
	}
	p.StreamFor = max(p.StreamFor, toyLife-time.Minute)
	return p
}

// toyDialect changes mentions of @everyone so that the mentions notify nobody.
type toyDialect struct {
	markup.Plain
	flaw string
}

func (d toyDialect) Render(p markup.Piece) markup.Rendered {
	r := d.Plain.Render(p)
	if d.flaw != "calls everyone" {
		r.Text = strings.ReplaceAll(r.Text, "@everyone", "@\u2060everyone")
	}
	return r
}

func (b *toyBot) Dialect(chat.Target) markup.Dialect { return toyDialect{flaw: b.flaw} }

// The method call makes one call to the toy platform. If no fault prevents the call from taking effect, the method call
// runs the function effect.
func (b *toyBot) call(ctx context.Context, op chat.Op, to chat.Target, effect func() error) error {
	if ctx.Err() != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: ctx.Err()}
	}
	switch b.how {
	case Unreachable:
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New("nobody answers")}
	case WrongSecret:
		return &chat.SendError{Kind: chat.Auth, Err: errors.New("refused")}
	case Proper:
	}
	tries := 1
	if b.has("repeats by itself") {
		tries = 2
	}
	var err error
	for range tries {
		if err = b.try(ctx, op, to, effect); err == nil || chat.AsSendError(err).Kind != chat.Uncertain {
			break
		}
	}
	return err
}

func (b *toyBot) try(ctx context.Context, op chat.Op, to chat.Target, effect func() error) error {
	b.mu.Lock()
	b.calls[op]++
	fault := Fault(255)
	if list := b.faults[op]; len(list) > 0 {
		fault, b.faults[op] = list[0], list[1:]
	}
	b.mu.Unlock()
	uncertain := func(why string) error {
		if b.has("calls it rejected") {
			return &chat.SendError{Kind: chat.Rejected, Err: errors.New(why)}
		}
		return &chat.SendError{Kind: chat.Uncertain, Err: errors.New(why)}
	}
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return &chat.SendError{Kind: chat.Uncertain, Err: ctx.Err()}
		}
	}
	if err := wait(toyLatency / 2); err != nil {
		return err
	}
	switch fault {
	case Hang:
		return wait(24 * time.Hour)
	case ServerError:
		return uncertain("server error")
	case CutBefore:
		return uncertain("cut")
	case Refused:
		return &chat.SendError{Kind: chat.Forbidden}
	case Unauthorized:
		return &chat.SendError{Kind: chat.Auth}
	case RateLimit, CutAfter:
	}
	b.mu.Lock()
	err := b.charge(op, to, fault == RateLimit)
	if err == nil && b.banned[to.Chat] {
		err = &chat.SendError{Kind: chat.Forbidden}
	}
	if err == nil {
		err = effect()
	}
	b.mu.Unlock()
	if fault == CutAfter && err == nil {
		return uncertain("cut")
	}
	if failed := wait(toyLatency / 2); failed != nil {
		return failed
	}
	return err
}

// charge counts a call against the rate limit. If the limit is reached, charge refuses the call.
func (y *toy) charge(op chat.Op, to chat.Target, forced bool) error {
	now := time.Now()
	refuse := func(d time.Duration) error {
		y.blocked[to.Chat] = now.Add(d)
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: d}
	}
	switch {
	case forced:
		return refuse(RetryAfter)
	case now.Before(y.blocked[to.Chat]):
		y.wrong = append(y.wrong, fmt.Sprintf("call %b in a blocked chat", op))
		y.refused++
		return refuse(y.blocked[to.Chat].Sub(now))
	case !y.enforced || op == chat.OpTyping:
		return nil
	}
	used := slices.DeleteFunc(y.used[to.Chat], func(t time.Time) bool { return now.Sub(t) >= toyWindow })
	y.used[to.Chat] = used
	if len(used) >= toyRate {
		y.wrong = append(y.wrong, fmt.Sprintf("call %b beyond the rate", op))
	}
	if len(used) >= toyRate || y.hidden && len(used) >= toyRate/2 {
		y.refused++
		return refuse(used[0].Add(toyWindow).Sub(now).Truncate(time.Second) + time.Second)
	}
	y.used[to.Chat] = append(used, now)
	return nil
}

// create creates a message of the bot. If create is called again with the same key for the same target within
// toyKeyFor, create returns the existing message. With the flaw of forgetting keys, create always creates a message.
func (b *toyBot) create(to chat.Target, m chat.Outgoing, f *File) (*toyMessage, error) {
	m.Text = b.shortened(m.Text)
	if utf8.RuneCountInString(m.Text) > toyLimit {
		return nil, &chat.SendError{Kind: chat.TooLong}
	}
	for _, old := range b.messages {
		if old.own && m.Key != "" && old.key == m.Key && old.to == to && time.Since(old.at) < toyKeyFor && !b.has("forgets keys") {
			return old, nil
		}
	}
	fresh := &toyMessage{id: b.newID(), to: to, own: true, key: m.Key, at: time.Now(), actions: m.Actions, file: f}
	fresh.change(m.Text)
	b.messages, b.sent[fresh.id] = append(b.messages, fresh), true
	b.notify(to, m.Text)
	b.open(to, m)
	if !b.has("leaves drafts") {
		delete(b.drafts, to)
	}
	delete(b.waiting, m.ReplyTo)
	return fresh, nil
}

// shortened returns the text that the adapter sends in place of the given text. Normally, the adapter sends the whole
// text. If the adapter has the flaw of shortening long texts, shortened returns only the beginning of the text.
func (b *toyBot) shortened(text string) string {
	if b.has("shortens what is long") {
		text = string([]rune(text)[:min(toyLimit/2, utf8.RuneCountInString(text))])
	}
	return text
}

func (y *toy) newID() chat.MessageID {
	return chat.MessageID(strconv.Itoa(len(y.messages) + len(y.inbox) + 1))
}

func (y *toy) notify(to chat.Target, text string) {
	if strings.Contains(text, "@everyone") {
		y.pings[to] = append(y.pings[to], "@everyone")
	}
}

// open records the link previews that the platform shows for a message.
func (b *toyBot) open(to chat.Target, m chat.Outgoing) {
	switch {
	case m.LinkPreview != "":
		b.opened[to] = append(b.opened[to], m.LinkPreview)
	case b.has("previews links") && strings.Contains(m.Text, "https://"):
		b.opened[to] = append(b.opened[to], m.Text)
	}
}

// find returns the message to which ref refers, or an error if the message was deleted or never existed.
func (y *toy) find(ref chat.MessageRef) (*toyMessage, error) {
	for _, m := range y.messages {
		if m.id == ref.ID && m.to.Chat == ref.Target.Chat && !m.deleted {
			if !m.ends.IsZero() && time.Now().After(m.ends) {
				m.ends, m.broken = time.Time{}, true
			}
			return m, nil
		}
	}
	return nil, &chat.SendError{Kind: chat.Gone}
}

func (b *toyBot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (r chat.Receipt, err error) {
	err = b.call(ctx, chat.OpSend, to, func() error {
		made, err := b.create(to, m, nil)
		if err == nil {
			r.Ref = chat.MessageRef{Target: to, ID: made.id}
		}
		return err
	})
	if b.has("logs a secret") {
		b.log.Info("sent with " + toySecret)
	}
	return r, err
}

func (b *toyBot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (r chat.Receipt, err error) {
	name := strings.Map(func(c rune) rune {
		if strings.ContainsRune("/\\\"\r\n", c) {
			return '_'
		}
		return c
	}, f.Name)
	name = name[max(0, len(name)-60):]
	if name == "" {
		name = "file"
	}
	err = b.call(ctx, chat.OpSend, to, func() error {
		if len(f.Content) == 0 {
			return &chat.SendError{Kind: chat.Rejected}
		}
		made, err := b.create(to, m, &File{Name: name, Content: f.Content, Caption: m.Text})
		if err == nil {
			r.Ref = chat.MessageRef{Target: to, ID: made.id}
		}
		return err
	})
	return r, err
}

func (b *toyBot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if b.has("sends what it should edit") {
		return b.Send(ctx, ref.Target, m)
	}
	err := b.call(ctx, chat.OpEdit, ref.Target, func() error {
		old, err := b.find(ref)
		switch {
		case err != nil && b.has("calls a lost message rejected"):
			return &chat.SendError{Kind: chat.Rejected}
		case err != nil:
			return err
		case b.has("knows no old messages") && !b.sent[old.id]:
			return &chat.SendError{Kind: chat.Gone}
		case utf8.RuneCountInString(m.Text) > toyLimit:
			return &chat.SendError{Kind: chat.TooLong}
		case b.has("cuts what it edits") && len(m.Text) > 100:
			m.Text = m.Text[:100]
		}
		m.Text = b.shortened(m.Text)
		old.broken = false
		if first, _, _ := strings.Cut(old.text(), "\n\n"); b.has("never takes away") && !strings.HasPrefix(m.Text, first) {
			m.Text = first + "\n\n" + m.Text
		}
		if old.text() != m.Text {
			old.change(m.Text)
		}
		if adds := len(m.Actions) > 0; adds && !b.has("adds no buttons") || !adds && !b.has("leaves buttons") {
			old.actions = m.Actions
		}
		b.notify(ref.Target, m.Text)
		b.open(ref.Target, m)
		return nil
	})
	return chat.Receipt{Ref: ref}, err
}

func (b *toyBot) Delete(ctx context.Context, ref chat.MessageRef) error {
	return b.call(ctx, chat.OpDelete, ref.Target, func() error {
		if m, err := b.find(ref); err == nil {
			m.deleted = true
		}
		return nil
	})
}

func (b *toyBot) Typing(ctx context.Context, to chat.Target) error {
	return b.call(ctx, chat.OpTyping, to, func() error { return nil })
}

func (b *toyBot) Draft(ctx context.Context, to chat.Target, _ int64, m chat.Outgoing) error {
	if to.Kind != chat.Private {
		return &chat.SendError{Kind: chat.Rejected}
	}
	return b.call(ctx, chat.OpDraft, to, func() error {
		if utf8.RuneCountInString(m.Text) > toyLimit {
			return &chat.SendError{Kind: chat.TooLong}
		}
		b.drafts[to] = toyDraft{m.Text, time.Now().Add(toyDraftFor)}
		return nil
	})
}

func (b *toyBot) Start(ctx context.Context, to chat.Target, m chat.Outgoing) (r chat.Receipt, err error) {
	if to.Kind != chat.Group || m.ReplyTo == "" {
		return r, &chat.SendError{Kind: chat.Rejected}
	}
	err = b.call(ctx, chat.OpStart, to, func() error {
		made, err := b.create(to, m, nil)
		if err == nil && len(made.versions) == 1 {
			made.ends = time.Now().Add(toyLife)
		}
		if err == nil {
			r.Ref = chat.MessageRef{Target: to, ID: made.id}
		}
		return err
	})
	return r, err
}

func (b *toyBot) Append(ctx context.Context, ref chat.MessageRef, text string) error {
	return b.call(ctx, chat.OpAppend, ref.Target, func() error {
		m, err := b.find(ref)
		switch {
		case err != nil:
			return err
		case m.ends.IsZero():
			return &chat.SendError{Kind: chat.Rejected}
		}
		m.change(m.text() + text)
		return nil
	})
}

func (b *toyBot) Stop(ctx context.Context, ref chat.MessageRef, text string) error {
	return b.call(ctx, chat.OpStop, ref.Target, func() error {
		m, err := b.find(ref)
		switch {
		case err != nil:
			return err
		case m.ends.IsZero() && text == "":
			return nil
		case m.ends.IsZero():
			return &chat.SendError{Kind: chat.Rejected}
		}
		m.ends = time.Time{}
		if text != "" {
			m.change(m.text() + text)
		}
		return nil
	})
}

func (b *toyBot) Newest(chat.Target) chat.MessageID { return "" }

func (b *toyBot) Find(ctx context.Context, to chat.Target, c chat.Create, _ string) (found chat.Found, err error) {
	err = b.call(ctx, chat.OpFind, to, func() error {
		for _, m := range b.messages {
			if m.own && !m.deleted && m.to == to && (m.key == c.Key || b.has("finds anything")) {
				found.Ref = chat.MessageRef{Target: to, ID: m.id}
			}
		}
		return nil
	})
	if err != nil {
		return chat.Found{}, err
	}
	return found, nil
}

func (b *toyBot) Concluded(_ chat.Target, ids []chat.MessageID, _ bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.waiting, id)
	}
}
