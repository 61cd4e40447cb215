package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// question is a question that setup asks.
type question struct {
	text          string
	flagValue     string // the answer on the command line; empty: not given
	defaultAnswer string // the answer if the person just presses Enter; empty: no default
	how           string // how the person can give the answer if Setup asks no questions
	secret        bool
	optional      bool
}

// ask returns the answer to a question. If the command line contains the answer, ask returns it. Otherwise ask asks
// the person, who accepts the default by an empty answer.
func (s *setup) ask(ctx context.Context, q question) (string, error) {
	if q.flagValue != "" {
		return q.flagValue, nil
	}
	if s.o.Silent {
		if q.defaultAnswer == "" && !q.optional {
			return "", fmt.Errorf("%s: there is no answer, and with --non-interactive, setup asks nothing: %s", q.text, q.how)
		}
		return q.defaultAnswer, nil
	}
	for range maxTries {
		fmt.Fprint(s.out.Remarks, q.text)
		switch {
		case q.secret && q.defaultAnswer != "":
			fmt.Fprint(s.out.Remarks, " [generate one]")
		case q.defaultAnswer != "":
			fmt.Fprintf(s.out.Remarks, " [%s]", q.defaultAnswer)
		case q.optional:
			fmt.Fprint(s.out.Remarks, " [none]")
		}
		if q.secret && s.o.ReadSecret != nil {
			fmt.Fprint(s.out.Remarks, " (not shown while you type)")
		}
		fmt.Fprint(s.out.Remarks, ": ")
		answer, err := s.read(ctx, q.secret)
		if answer == "" {
			answer = q.defaultAnswer
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

// read reads one answer, and returns earlier if ctx ends. Reading from a terminal can't be interrupted, so if ctx ends, the
// goroutine that reads stays until the process ends.
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

// again asks the person whether to repeat a step after setup has found a problem.
func (s *setup) again(ctx context.Context, try int) bool {
	if s.o.Silent || try >= maxTries {
		return false
	}
	answer, err := s.ask(ctx, question{text: "Try again? (y or n)", defaultAnswer: "y"})
	return err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
}
