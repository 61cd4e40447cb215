package app

import (
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
func (s *setup) ask(q question) (string, error) {
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
		answer, err := s.read(q.secret)
		if answer == "" {
			answer = q.usual
		}
		if answer != "" || q.optional || err != nil && !errors.Is(err, io.EOF) {
			return answer, err
		}
		if err != nil {
			break
		}
	}
	return "", fmt.Errorf("%s: no answer", q.text)
}

func (s *setup) read(secret bool) (string, error) {
	if secret && s.o.ReadSecret != nil {
		text, err := s.o.ReadSecret()
		fmt.Fprintln(s.out.Remarks)
		return strings.TrimSpace(text), err
	}
	text, err := s.in.ReadString('\n')
	return strings.TrimSpace(text), err
}

// again asks whether to repeat a step that found a problem.
func (s *setup) again(try int) bool {
	if s.o.Silent || try >= maxTries {
		return false
	}
	answer, err := s.ask(question{text: "Try again? (y or n)", usual: "y"})
	return err == nil && strings.HasPrefix(strings.ToLower(answer), "y")
}
