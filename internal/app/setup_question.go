package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// question is what setup asks.
type question struct {
	text     string
	given    string // the answer that came with the command; empty: none
	usual    string // the answer where people give none; empty: an answer is needed, unless it is optional
	how      string // how the command can answer, for one that asks nothing
	secret   bool
	optional bool
}

// ask returns the answer to a question: the one that was given with the command, else what is typed. An empty answer is the
// usual one.
func (s *setup) ask(ctx context.Context, q question) (string, error) {
	if q.given != "" {
		return q.given, nil
	}
	if s.o.Silent {
		if q.usual == "" && !q.optional {
			return "", fmt.Errorf("%s: there is no answer, and --non-interactive asks nothing: %s", q.text, q.how)
		}
		return q.usual, nil
	}
	for range maxTries {
		fmt.Fprint(s.out.Remarks, q.text)
		switch {
		case q.secret && q.usual != "":
			fmt.Fprint(s.out.Remarks, " [make one up]")
		case q.usual != "":
			fmt.Fprintf(s.out.Remarks, " [%s]", q.usual)
		case q.optional:
			fmt.Fprint(s.out.Remarks, " [none]")
		}
		if q.secret && s.o.ReadSecret != nil {
			fmt.Fprint(s.out.Remarks, " (not shown while you type)")
		}
		fmt.Fprint(s.out.Remarks, ": ")
		answer, err := s.read(ctx, q.secret)
		if answer == "" {
			answer = q.usual
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if answer != "" || q.optional {
			return answer, nil
		}
		if err != nil {
			break
		}
	}
	return "", fmt.Errorf("%s: no answer", q.text)
}

// read reads one answer. Nothing can interrupt the reading of a terminal: when ctx ends, read returns without it, and the
// goroutine that reads ends with the process.
func (s *setup) read(ctx context.Context, secret bool) (string, error) {
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		var a answer
		if secret && s.o.ReadSecret != nil {
			a.text, a.err = s.o.ReadSecret()
			fmt.Fprintln(s.out.Remarks)
		} else {
			a.text, a.err = s.in.ReadString('\n')
		}
		read <- a
	}()
	select {
	case a := <-read:
		return strings.TrimSpace(a.text), a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// again asks whether to repeat a step that found a problem.
func (s *setup) again(ctx context.Context, try int) bool {
	if s.o.Silent || try >= maxTries {
		return false
	}
	answer, err := s.ask(ctx, question{text: "Try again? (y or n)", usual: "y"})
	return err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
}
