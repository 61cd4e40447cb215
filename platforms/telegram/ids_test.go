package telegram

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"telex/internal/chat"
)

// From any update, the bot must remember at most one message id in a sequence, and never a negative id.
func FuzzReceived(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":7,"chat":{"id":1001}}}`), int64(1001))
	f.Add([]byte(`{"message":{"message_id":9,"chat":{"id":-1001234567890}}}`), int64(-1001234567890))
	f.Add([]byte(`{"callback_query":{"message":{"message_id":9,"chat":{"id":5}}}}`), int64(5))
	f.Add([]byte(`{"message":{"message_id":-9,"chat":null}}`), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, c int64) {
		var i ids
		i.addReceived([]json.RawMessage{raw})
		s := i.sequenceOfTarget(chat.Target{Chat: chat.ChatID(strconv.FormatInt(c, 10))})
		if s.newest < 0 || len(s.known) > 1 {
			t.Errorf("one update: newest %d, %d known", s.newest, len(s.known))
		}
	})
}

// The bot must forget the oldest ids of a sequence, and whole sequences, so that its memory stays within the limits.
func TestKnownIDsAreBounded(t *testing.T) {
	t.Parallel()
	var i ids
	for id := range 3 * maxKnownIDs {
		i.sequenceOf(5).addKnown(id)
	}
	if s := i.sequenceOf(7); len(s.known) > maxKnownIDs || s.newest != 3*maxKnownIDs-1 {
		t.Errorf("%d known, newest %d", len(s.known), s.newest)
	}
	for n := range int64(2 * maxSequences) {
		i.sequenceOf(supergroups - n).addKnown(1)
	}
	if len(i.sequences) > maxSequences || i.sequenceOf(5).newest != 3*maxKnownIDs-1 {
		t.Errorf("%d sequences, newest of the shared one %d", len(i.sequences), i.sequenceOf(5).newest)
	}
}

// While a create call runs, the id of its message is not known, so a probe could change this message. During the create
// call, no probe may begin in the chat. A create call must not wait for a probe that is already running. If a running
// probe may have changed the new message, the outcome of the create call must be unknown.
func TestProbesWaitForCreates(t *testing.T) {
	t.Parallel()
	var i ids
	i.loadHistory(nil)
	here, there := chat.Target{Chat: "1001"}, chat.Target{Chat: "1002"}
	lost := chat.Create{Key: "lost", After: "5", Message: chat.Outgoing{Text: "text"}}
	i.beginCreate(here)
	if _, _, err := i.nextProbe(here, lost, probe{}); err == nil {
		t.Error("a probe begins during a create")
	}
	if _, ok, err := i.nextProbe(there, lost, probe{}); err != nil || !ok {
		t.Errorf("another chat's probe: %t, %v", ok, err)
	}
	if _, err := i.recordCreate(here, "new", json.RawMessage(`{"message_id":6}`), nil); err != nil {
		t.Error(err)
	}
	p, ok, err := i.nextProbe(here, lost, probe{})
	if err != nil || !ok || p.id == 6 {
		t.Errorf("after the create: %+v, %t, %v", p, ok, err)
	}
	i.beginCreate(here)
	if _, err := i.recordCreate(here, "newer", fmt.Appendf(nil, `{"message_id":%d}`, p.id), nil); chat.AsSendError(err).Kind != chat.Uncertain {
		t.Errorf("a create whose message the probe may have hit: %v", err)
	}
}
