package preview

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

var phaseNames = map[phase]string{absent: "absent", standing: "standing", streaming: "streaming", gone: "gone"}

// For every outcome of every call, on a message in every phase, settle must change the phase as shown by the diagram in
// doc.go.
func TestPhasesMatchTheDrawing(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	drawn, done := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+) +─+> (\w+) `).FindAllStringSubmatch(string(source), -1) {
		drawn[m[1]+" to "+m[2]] = true
	}
	for from := range phaseNames {
		for _, s := range everyState(from) {
			for _, c := range everyOutcome() {
				if !c.fits(s) {
					continue
				}
				after := *s
				after.parts = slices.Clone(s.parts)
				after.settle(c.a, c.r, c.err, now)
				if to := after.parts[0].phase; to != from {
					done[phaseNames[from]+" to "+phaseNames[to]] = true
				}
			}
		}
	}
	if len(done) < 5 {
		t.Errorf("only %v happen: the test tries too little", done)
	}
	for _, change := range slices.Sorted(maps.Keys(done)) {
		if !drawn[change] {
			t.Errorf("%s happens and is not drawn", change)
		}
	}
	for _, change := range slices.Sorted(maps.Keys(drawn)) {
		if !done[change] {
			t.Errorf("%s is drawn and does not happen", change)
		}
	}
}

var now = time.Now()

// everyState returns states of replies with only one message, which is in the given phase. The states contain all
// combinations of other fields that may influence the next phase.
func everyState(p phase) (all []*state) {
	for _, ops := range []chat.Op{chat.OpSend, chat.OpSend | chat.OpEdit, chat.OpAll} {
		for _, ending := range []*Ending{nil, {Text: "final"}, {Keep: true}} {
			for _, r := range []resolution{known, byKey, byFind} {
				for _, streams := range []bool{false, true} {
					s := &state{place: place{dialect: markup.Plain{}, limit: 100, ops: ops, keyFor: time.Minute, streamFor: time.Minute}}
					s.parts = []message{{phase: p, attempt: attempt{resolution: r, streams: streams, firstAt: now}}}
					if s.parts[0].exists() {
						s.parts[0].ref, s.parts[0].attempt = chat.MessageRef{ID: "1", Target: chat.Target{Chat: "a"}}, attempt{}
					}
					if ending != nil {
						s.end(ending, now)
					}
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// outcome is a call for the first message together with the result of the call.
type outcome struct {
	a   action
	r   chat.Receipt
	err error
}

// fits reports whether next may choose the call in a state. Only an existing message can be changed, and only a missing
// one can be created.
func (o outcome) fits(s *state) bool {
	m := &s.parts[0]
	switch o.a.kind {
	case doSend, doFile, doStart:
		return !m.exists() && m.attempt.resolution != byFind && (o.a.kind != doStart || s.ending == nil && s.can(chat.OpStart))
	case doFind:
		return !m.exists() && m.attempt.resolution != known && s.can(chat.OpFind)
	case doEdit:
		return m.phase == standing && s.can(chat.OpEdit)
	case doDelete:
		return m.phase == standing && s.can(chat.OpDelete)
	default:
		return m.phase == streaming
	}
}

func everyOutcome() (all []outcome) {
	for _, kind := range []actionKind{doSend, doFile, doStart, doFind, doEdit, doDelete, doAppend, doStop} {
		a := action{kind: kind, desired: desired{display: display{body: payload{rendered: markup.Rendered{Text: "text"}, plain: "text"}}}}
		if kind == doAppend || kind == doStop {
			a.added = "more"
		}
		all = append(all, outcome{a: a}, outcome{a: a, r: chat.Receipt{Ref: chat.MessageRef{ID: "2"}}})
		for k := chat.Uncertain; k <= chat.Frozen; k++ {
			e := &chat.SendError{Kind: k, Err: fmt.Errorf("kind %d", k)}
			if k == chat.Moved {
				e.Moved = "b"
			}
			all = append(all, outcome{a: a, err: e})
		}
	}
	return all
}

// The function next must not change the state, because the reply also calls next to check whether a waiting call is
// still wanted.
func TestNextChangesNothing(t *testing.T) {
	t.Parallel()
	asks := Status{Lines: []string{"May I?"}, Actions: []chat.Action{{ID: "yes"}}, Urgent: true}
	tools := Status{Lines: []string{"reading"}, Thought: "hm"}
	for p := range phaseNames {
		for _, status := range []Status{{}, asks, tools} {
			for _, text := range []string{"", "one two *three"} {
				for _, s := range everyState(p) {
					s.cfg = Config{Enabled: true, Cursor: " ▌", Progress: true}
					s.view = View{Text: text, Tokens: 10, Status: status}
					before := *s
					before.parts = slices.Clone(s.parts)
					a := s.next(now.Add(time.Second))
					if !reflect.DeepEqual(before, *s) {
						t.Fatalf("%s, %+v: next chose %d and changed\n%+v\nto\n%+v", phaseNames[p], status, a.kind, before, *s)
					}
				}
			}
		}
	}
}

// The table failuresOf must contain a transition for every failure of every call that the function next may choose.
func TestEveryFailureHasATransition(t *testing.T) {
	t.Parallel()
	for place, kinds := range map[int][]actionKind{
		0:            {doSend, doFile, doStart, doEdit, doDelete, doDraft, doAppend, doStop, doFind},
		questionAt:   {doSend, doEdit, doDelete, doFind},
		supersededAt: {doDelete},
	} {
		for _, kind := range kinds {
			for k := chat.Uncertain; k <= chat.Frozen; k++ {
				f := failedCall{action: action{kind: kind, desired: desired{part: place}}, err: &chat.SendError{Kind: k}}
				if f.transition() == nil {
					t.Errorf("call %d at %d that fails as %v changes nothing", kind, place, k)
				}
			}
		}
	}
}

// The state of a reply must stay readable: a struct has at most 20 fields, four of them booleans.
func TestStructsAreSmall(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		message{}, attempt{}, display{}, desired{}, action{}, draft{}, state{}, place{}, visibleState{}, failures{}, finalLayout{}, Reply{}, Slot{}, Config{}, Options{},
	} {
		typ, flags := reflect.TypeOf(v), 0
		for field := range typ.Fields() {
			if field.Type.Kind() == reflect.Bool {
				flags++
			}
		}
		if typ.NumField() > 20 || flags > 4 {
			t.Errorf("%s has %d fields, %d of them booleans", typ, typ.NumField(), flags)
		}
	}
}
