package store_test

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// work runs in the process that the test kills. work first finishes the turns of the previous process. After that, work
// accepts and answers messages. The ids of these messages are numbers, beginning with the number first. As soon as a
// step of this work is on the disk, work prints it.
func work(ctx context.Context, path string, first int) error {
	s, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	say := func(what, id string, err error) error {
		if err == nil {
			_, err = os.Stdout.WriteString(what + " " + id + "\n")
		}
		return err
	}
	answer := func(id string) error {
		return errors.Join(
			say("noted", id, s.Note(ctx, id, step(chat.StepBegun, id, ""), step(chat.StepAnswered, id, "x"))),
			say("intended", id, s.Record(ctx, id, chat.Part{State: chat.PartIntended, Key: id})),
			say("recorded", id, s.Record(ctx, id, chat.Part{State: chat.PartStands, Key: id, Ref: chat.MessageRef{ID: chat.MessageID(id)}})),
			say("decided", id, s.Decide(ctx, id, decision("final", id))),
		)
	}
	turns, err := s.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if t.State == chat.TurnRunning {
			err = errors.Join(say("begun", t.ID, s.Begin(ctx, t)), answer(t.ID))
		}
		if err := errors.Join(err, say("ended", t.ID, s.End(ctx, t.ID, chat.Growth{}))); err != nil {
			return err
		}
	}
	for i := first; ; i++ {
		id := strconv.Itoa(i)
		in := message(private("1"), chat.MessageID(id))
		in.Resume = id
		if _, err := s.Accept(ctx, private("1"), in); err != nil {
			return err
		}
		if err := say("accepted", id, nil); err != nil {
			return err
		}
		if i%3 == 0 { // the other messages stay unanswered
			err := errors.Join(say("begun", id, s.Begin(ctx, turnOf(id, private("1"), in.ID))), answer(id),
				say("ended", id, s.End(ctx, id, chat.Growth{})))
			if err != nil {
				return err
			}
		}
	}
}

// said contains the steps that the killed processes have printed. The first key is a message id, and the second key is
// a step.
type said map[string]map[string]bool

func (s said) add(line string) {
	what, id, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok {
		return
	}
	if s[id] == nil {
		s[id] = map[string]bool{}
	}
	s[id][what] = true
}

// The test kills processes that use a store, at any moment. Afterwards, the store must contain everything that it has
// acknowledged, and nothing twice (F43).
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 30
	if raced { // with the race detector, the test makes fewer kills
		kills = 5
	}
	path := filepath.Join(t.TempDir(), "telex.db")
	heard, random := said{}, rand.New(rand.NewPCG(1, 2))
	for range kills {
		// The test kills half of the processes after a random number of steps. The test kills the other processes
		// after a random time, perhaps while they start.
		wait, steps := 2*time.Minute, 1+random.IntN(60)
		if random.IntN(2) == 0 {
			wait, steps = time.Duration(random.IntN(120))*time.Millisecond, 1<<30
		}
		runAndKill(t, path, len(heard)+1, wait, steps, heard)
		verify(t, path, heard)
	}
	if len(heard) < kills {
		t.Errorf("got %d messages in %d runs: the processes did nothing", len(heard), kills)
	}
	t.Logf("%d kills, %d messages acknowledged", kills, len(heard))
}

// runAndKill runs the worker process, and kills it after the given time or number of steps.
func runAndKill(t *testing.T, path string, first int, wait time.Duration, steps int, heard said) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait) // when ctx ends, the worker process is killed
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"=work", pathVariable+"="+path, firstVariable+"="+strconv.Itoa(first))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		if ctx.Err() != nil {
			return
		}
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // ignore an incomplete last line of the output
		}
		if strings.HasPrefix(line, "error:") {
			t.Errorf("worker from message %d: %s", first, line)
		}
		heard.add(line)
		if steps--; steps == 0 {
			cancel()
		}
	}
	_ = child.Wait() // ignore the error of Wait: the test has killed the child
}

func verify(t *testing.T, path string, heard said) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, Store: s}
	defer f.close()
	rep, err := s.Check(t.Context())
	f.must(err)
	if len(rep.Problems) > 0 {
		t.Fatalf("after a kill: %v", rep.Problems)
	}
	waiting := f.waiting()
	_, history, err := f.Session(t.Context(), private("1"))
	f.must(err)
	times := map[string]int{}
	for _, e := range history {
		times[string(e.Body)]++
	}
	turns, err := f.Unfinished(t.Context())
	f.must(err)
	for id, did := range heard {
		here := slices.ContainsFunc(waiting, func(w string) bool { return strings.TrimSuffix(w, "!") == "tg:1/"+id })
		state, notes := findTurn(turns, id)
		parts, err := store.Parts(t.Context(), s.Reader, id)
		f.must(err)
		switch {
		case did["accepted"] && !did["begun"] && !here && times[id] == 0:
			t.Errorf("message %s was accepted and is gone", id)
		case did["recorded"] && (len(parts) != 1 || parts[0].Ref.ID == ""):
			t.Errorf("the id of message %s's reply was learned and is gone: %+v", id, parts)
		case did["noted"] && !did["decided"] && state == chat.TurnRunning && (notes == 0 || notes%2 != 0):
			t.Errorf("turn %s noted two things at once, and %d are there", id, notes)
		case did["decided"] && times[id] != 1:
			t.Errorf("turn %s was decided and its history is there %d times", id, times[id])
		case did["decided"] && !did["ended"] && state == chat.TurnRunning:
			t.Errorf("turn %s was decided and is %q", id, state)
		case did["ended"] && (here || state != ""):
			t.Errorf("turn %s ended and is %q, its message waits: %v", id, state, here)
		case times[id] > 1:
			t.Errorf("history of turn %s is there %d times", id, times[id])
		}
		if !did["accepted"] {
			continue
		}
		if fresh, err := f.Accept(t.Context(), private("1"), message(private("1"), chat.MessageID(id))); fresh || err != nil {
			t.Errorf("message %s again: got fresh %v, %v, want known", id, fresh, err)
		}
	}
	if slices.Sort(waiting); len(slices.Compact(waiting)) != len(f.waiting()) {
		t.Errorf("a message waits twice: %v", waiting)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// findTurn returns the state of an unfinished turn, and the length of its journal.
func findTurn(turns []chat.Turn, id string) (state chat.TurnState, notes int) {
	for _, t := range turns {
		if t.ID == id {
			return t.State, len(t.Steps)
		}
	}
	return "", 0
}
