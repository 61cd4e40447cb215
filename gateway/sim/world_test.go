package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
)

// written is the judge's record of a message that a person wrote.
type written struct {
	say

	update    int // the number of the platform's first update with the message, counted from 1
	accepted  time.Time
	heard     time.Time // when the process that answers the message first received it
	heardLast time.Time // when the process that answers the message last received it
	taken     int       // position of this message in the order in which messages were accepted
	dropped   time.Time
	wrote     time.Time
	droppedBy *life
	receiver  *life       // the process that accepted the message
	edits     []time.Time // times at which the writer edited the message
	stops     string      // the turn that the pressed button of a draft belongs to; empty: the person pressed no button of a draft
	joined    bool        // the message joined a running turn before messages that had waited longer
}

// world is the state of one schedule while it is played.
type world struct {
	s     schedule
	began time.Time
	store *memory.Store // the store of all processes, which survives their death

	mu        sync.Mutex
	person    person
	lives     []*life
	killed    map[int]bool
	settled   bool // nothing is left to do; no update is delivered again, as the simulation would not wait for an answer
	downUntil time.Time
	fullUntil time.Duration

	messages  []*written
	updates   []chat.Inbound
	acked     int
	taking    map[*life]int // number of the next update for each receiving process; platforms deliver some updates again
	newUpdate chan struct{} // closed and replaced by a new channel when an update is added

	turns       map[string]*turnLog
	order       []*turnLog
	calls       []*call
	arrivals    []*call
	failed      []*call // calls that could not leave their process
	told        []block
	penalties   []penalty
	blocks      []chat.Block
	moved       map[chat.ChatID]chat.ChatID
	movedAt     time.Time
	bad         map[string]time.Time // for each message named by badName, the time until which the platform fails for this message
	reminded    time.Time
	reminders   int       // number of times that the method remind wrote messages
	knocked     time.Time // when a stranger last got a pairing code
	texts       int       // number of calls, except typing indicators
	indicators  int
	writes      int
	hooks       []hook
	paces       map[chat.UserID][]time.Time // for each person, the times of the turns that count toward the person's limit
	counted     map[turnsOf]int
	agreed      int // number of writes that replicas made to coordinate
	signalsLost atomic.Int64
	ids         int
	inbox       int // number of accepted messages

	questions []*question
	consents  []standingApproval
	deeds     map[string]*deed
	done      int               // number of effects of tool calls
	readAs    map[string]string // for the Markdown of each stage of an answer, the text that people must see
	reacted   int
	thinking  int // number of planned reactions that have not happened yet

	counts counts
	notes  []string
	wrong  []string
}

func newWorld(s schedule) *world {
	return &world{
		s: s, began: time.Now(), store: memory.New(), killed: map[int]bool{}, newUpdate: make(chan struct{}), taking: map[*life]int{},
		paces: map[chat.UserID][]time.Time{}, counted: map[turnsOf]int{}, deeds: map[string]*deed{}, readAs: map[string]string{}, turns: map[string]*turnLog{}, moved: map[chat.ChatID]chat.ChatID{}, bad: map[string]time.Time{},
		person: person{drafts: map[chat.Target]version{}, ids: map[chat.Target]int64{}}, counts: counts{},
	}
}

// complain records a violation that the judge found. The caller holds world.mu.
func (w *world) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("at %.3f: ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("%10.3f -- ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) log(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

// happening is an event that happens at a given time of the schedule.
type happening struct {
	at time.Duration
	do func()
}

// play plays the schedule to its end and returns the world, which contains the violations. play must be called inside
// synctest.Test.
func (s schedule) play(*testing.T) *world {
	w := newWorld(s)
	for slot := range max(1, s.replicas) {
		w.begin(slot)
	}
	for _, h := range w.happenings() {
		time.Sleep(h.at - time.Since(w.began))
		h.do()
	}
	w.settle()
	w.mu.Lock()
	n := len(w.calls)
	w.settled = true
	w.mu.Unlock()
	if s.replicas == 0 { // F38, F45: check that no call is made after the end
		time.Sleep(time.Hour)
	} else {
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	w.mu.Lock()
	if len(w.calls) != n {
		w.complain("F38: %d calls after everything had ended", len(w.calls)-n)
	}
	lives := slices.Clone(w.lives)
	w.mu.Unlock()
	for _, l := range lives {
		// Stop all processes at once. If only one process stopped, the next receiver would get ignored updates again
		// and might answer them.
		l.cancel()
	}
	for _, l := range lives {
		<-l.ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge()
	return w
}

// happenings returns the events of the schedule that have a fixed time, in order.
func (w *world) happenings() []happening {
	var list []happening
	for i, s := range w.s.says {
		w.messages = append(w.messages, &written{say: s})
		list = append(list, happening{s.at, func() { w.write(i) }})
		if s.again {
			list = append(list, happening{s.at + time.Second, func() { w.write(i) }})
		}
	}
	for i := range w.s.kills {
		k := &w.s.kills[i]
		switch k.where {
		case atTime:
			list = append(list, happening{k.at, func() {
				if l := w.alive(k.slot); l != nil {
					l.die(k)
				}
			}})
		case inOrder:
			list = append(list, happening{k.at, func() { w.stop(k) }})
		}
	}
	for _, a := range w.s.accidents {
		list = append(list, happening{a.at, func() { w.happen(a) }})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return int(a.at - b.at) })
	return list
}

// The method happen makes an accident happen in a chat.
func (w *world) happen(a accident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.target(a.place)
	switch a.kind {
	case "delete":
		if m := w.person.newest(to.Chat); m != nil {
			m.deletedBy = "person"
			w.counts.add("fault: the person deletes a message", 1)
			w.note("the person deletes %s", m.id)
		}
	case "edit":
		w.edit(a.place)
	case "full":
		w.fullUntil = time.Since(w.began) + a.lasts
	case "move":
		if next := to.Chat + "moved"; to.Kind == chat.Group && w.moved[to.Chat] == "" && to.Chat == "group" {
			w.moved[to.Chat], w.movedAt = next, time.Now()
			w.counts.add("fault: chat moved", 1)
			w.note("%s moves to %s", to.Chat, next)
		}
	}
}

// edit makes a person edit the newest question in a conversation.
func (w *world) edit(place int) {
	for _, in := range slices.Backward(w.updates) {
		if m := w.messages[numberOf(in.ID)]; m.place == place && m.kind == "text" {
			m.edits = append(m.edits, time.Now())
			in.Kind, in.Text, in.Resume = chat.Edited, in.Text+" edited", number(len(w.updates)+1)
			w.counts.add("questions that people edit", 1)
			w.note("%s edits %s", m.user, in.ID)
			w.offer(in)
			return
		}
	}
}

// target returns the chat, under its current id, and the thread of a conversation. Conversations 1 and 2 belong to the
// same group, and conversation 2 is a thread of this group.
func (w *world) target(place int) chat.Target {
	homes := [...]chat.Target{{Chat: "ann"}, {Chat: "group", Kind: chat.Group}, {Chat: "group", Thread: "t", Kind: chat.Group}}
	to := chat.Target{Chat: chat.ChatID("other" + number(place))}
	if place < len(homes) {
		to = homes[place]
	}
	if next, moved := w.moved[to.Chat]; moved {
		to.Chat = next
	}
	return to
}

// tooBig is a size in bytes above the maximum size of a message that the gateway stores.
const tooBig = 64<<10 + 1

// placeOf returns the number of a conversation. c is the old or the new id of its chat.
func (w *world) placeOf(c chat.ChatID, thread chat.ThreadID) int {
	for place := range w.s.places {
		to := w.target(place)
		if to.Thread == thread && (to.Chat == c || to.Chat == w.moved[c]) {
			return place
		}
	}
	return 0
}

// write makes a person write message n. If the message was already written, the platform delivers it a second time.
func (w *world) write(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeLocked(n)
}

func (w *world) writeLocked(n int) {
	m := w.messages[n]
	if m.update > 0 { // the message was already written, so the platform delivers it again
		again := w.updates[m.update-1]
		again.Resume = number(len(w.updates) + 1)
		w.offer(again)
		return
	}
	m.update, m.wrote = len(w.updates)+1, time.Now()
	in := chat.Inbound{
		To: w.target(m.place), Sender: chat.Sender{ID: m.user}, ID: chat.MessageID("m" + number(n)),
		Text: "q" + number(n) + "q", Addressed: !m.unnamed, Follows: m.unnamed, Resume: number(len(w.updates) + 1), At: time.Now(), More: m.more,
	}
	in.Reply = in.To.Kind == chat.Group
	w.note("%s writes m%d in %s: %s %s", m.user, n, in.To.Chat, m.kind, m.args)
	draft := int64(0)
	if m.kind == "stop" && m.user != stranger {
		draft, m.stops = w.person.button(in.To)
	}
	if draft != 0 { // a person presses the button of a visible draft instead of writing the command
		in.Kind, in.Action, in.Text = chat.Button, chat.DraftAction(draft), ""
		w.counts.add("presses of the button of a draft", 1)
		w.offer(in)
		return
	}
	switch m.kind {
	case "text":
	case "yes":
		in.Text = "Yes!"
	case "no":
		in.Text = "no"
	case "press":
		in.Kind, in.Action, in.Text = chat.Button, m.args, ""
	case "big":
		in.Text = strings.Repeat(in.Text, tooBig/len(in.Text)+1)
	default:
		in.Kind, in.Command, in.Text, in.Args = chat.Command, m.kind, "/"+m.kind, m.args
	}
	w.offer(in)
}

// offer adds an update to the updates that the platform delivers.
func (w *world) offer(in chat.Inbound) {
	w.updates = append(w.updates, in)
	close(w.newUpdate)
	w.newUpdate = make(chan struct{})
}

// update returns update i of the platform. If there are fewer updates, update returns a channel that is closed when an
// update is added.
func (w *world) update(i int) (*chat.Inbound, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < len(w.updates) {
		return &w.updates[i], nil
	}
	return nil, w.newUpdate
}

func (w *world) outageNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outage() != nil
}

// repeat returns the number of the first update that a process gets when it begins to receive. A process that begins to
// receive gets some acknowledged updates again.
func (w *world) repeat(l *life) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taking[l] = w.acked
	if !w.settled {
		w.taking[l] = max(0, w.acked-w.s.repeats)
	}
	return w.taking[l]
}

// acknowledge records that a process accepted update i.
func (w *world) acknowledge(l *life, i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taking[l], w.acked = i+1, max(w.acked, i+1)
}

// stopTaking records that a process no longer receives updates. When stopTaking is called, another process may already
// have become the receiver.
func (w *world) stopTaking(l *life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.taking, l)
}

// accepted records that the gateway has stored a message.
func (w *world) accepted(in chat.Inbound) {
	m := w.messages[numberOf(in.ID)]
	w.judgeStored(m, in)
	if !m.accepted.IsZero() {
		w.complain("F50: message %s is accepted twice", in.ID)
	}
	w.inbox++
	m.accepted, m.taken = time.Now(), w.inbox
	if w.s.replicas == 0 {
		m.heard, m.heardLast = m.accepted, m.accepted
	}
	w.note("m%d is accepted", numberOf(in.ID))
}

func numberOf(id chat.MessageID) int {
	n := 0
	_, _ = fmt.Sscanf(string(id), "m%d", &n)
	return n
}

// mostTime is the maximum duration of a schedule. mostTime is longer than the longest wait that a fault can cause.
const mostTime = 50 * time.Hour

// settle waits until all messages are answered and all turns have ended.
func (w *world) settle() {
	most := mostTime
	if w.s.replicas > 0 {
		// With replicas, the limit is less than mostTime, because replicas renew their leases every second, which makes
		// the simulation slow. The limit is still enough for several slow answers in a row.
		most = 12 * time.Hour
	}
	for step := time.Second; time.Since(w.began) < most; step = min(2*step, time.Minute) {
		if w.idle() {
			return
		}
		w.remind()
		time.Sleep(step)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complain("things are left to do after %v", most)
}

// quiet is how long remind waits after the last call to the platform before it writes. quiet is longer than the longest
// wait that a fault can cause.
const quiet = 70 * time.Minute

// remind makes a person write in conversations whose turns have not ended although no call was made for a long time.
// The gateway tries to deliver an undelivered reply again when the next message arrives. If the new messages do not
// help because a chat got a new id, remind restarts the processes, since a process may not know the new id.
func (w *world) remind() {
	if w.remindLocked(); len(w.moved) > 0 && w.reminders == 2 {
		w.reminders++
		for slot := range max(1, w.s.replicas) {
			w.stop(&kill{where: inOrder, slot: slot})
		}
	}
}

func (w *world) remindLocked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := quiet
	if w.s.replicas > 0 {
		quiet = 17 * time.Minute // longer than the gateway tries to show a final
	}
	if n := len(w.calls); n > 0 && time.Since(w.calls[n-1].at) < quiet || time.Since(w.reminded) < quiet {
		return
	}
	w.reminded = time.Now()
	w.reminders++
	for _, t := range w.order {
		if t.released.IsZero() && t.ended.IsZero() {
			w.except(waitsForNext)
			w.messages = append(w.messages, &written{say: say{place: t.place, user: "ann", kind: "help"}})
			w.writeLocked(len(w.messages) - 1)
		}
	}
}

// idle reports whether every update is accepted, every turn has ended, and no reaction of a person is still planned.
func (w *world) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, next := range w.taking {
		if next < w.acked {
			return false
		}
	}
	return w.thinking == 0 && w.acked == len(w.updates) && !time.Now().Before(w.downUntil.Add(time.Second)) && len(w.left()) == 0
}
