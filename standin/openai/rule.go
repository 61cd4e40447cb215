package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rule changes the answers to matching requests. If several rules match, the oldest one applies. If the field Times is
// set, the rule applies to at most this number of requests. Settings in the question take precedence over a rule.
type Rule struct {
	Match string `json:"match,omitempty"` // a part of the last user message or of a recording's file name; empty: any text
	Regex string `json:"regex,omitempty"` // a regular expression (RE2) for the same texts as Match
	Model string `json:"model,omitempty"` // the exact name of the model; empty: any model
	Skip  int    `json:"skip,omitempty"`  // number of matching requests before the rule applies
	Times int    `json:"times,omitempty"` // number of matching requests after the skipped ones to which the rule applies; 0: all
	Do    string `json:"do"`              // settings, as in a directive: `rate=20 cut=120`
}

// activeRule is a rule with its compiled expression and parsed settings.
type activeRule struct {
	Rule
	regex    *regexp.Regexp
	settings []setting
	on       string
	seen     int // number of matching requests so far
	number   int // number of the rule, counted from 1
}

// Rule adds a rule. Rule returns an error if the settings or the expression are invalid.
func (s *Server) Rule(r Rule) error {
	a := &activeRule{Rule: r}
	var err error
	if a.regex, err = regexp.Compile(r.Regex); err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	if a.settings, err = parseSettings(r.Do); err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	var b behaviour
	if err := b.apply(a.settings); err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	if r.Skip < 0 || r.Times < 0 || b.skip > 0 || b.take > 0 {
		return fmt.Errorf("rule: how often it applies is said by Skip and Times, which are not negative")
	}
	a.on = b.on
	s.mu.Lock()
	defer s.mu.Unlock()
	a.number = len(s.rules) + 1
	s.rules = append(s.rules, a)
	return nil
}

// ask contains the properties of a request with which rules are compared.
type ask struct {
	model    string
	question string // the last user message, or a recording's file name
	kind     string // stream, plain or audio
}

// behave returns the behaviour for a request, and the number of the rule that applied. settings are the settings in the
// question.
func (s *Server) behave(r ask, settings []setting) (b behaviour, rule int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []setting
	for _, a := range s.rules {
		if a.matches(r) && a.take() {
			all, rule = slices.Clone(a.settings), a.number
			break
		}
	}
	own := behaviour{}
	if err := own.apply(settings); err != nil {
		panic(invalid("messages", "standin_directive", "%v", err))
	}
	if meant(own.on, r.kind) && s.takeOwn(own, r.question, settings) {
		all = append(all, settings...)
	}
	b.rate = s.opts.Rate
	b.comment = "keep-alive"
	b.context = s.opts.Context
	if n, ok := s.opts.Contexts[r.model]; ok {
		b.context = n
	}
	if err := b.apply(all); err != nil {
		panic(invalid("messages", "standin_directive", "%v", err))
	}
	return b, rule
}

// takeOwn counts a request with settings in its question. takeOwn reports whether the settings apply to this request
// according to the settings skip and times.
func (s *Server) takeOwn(own behaviour, question string, settings []setting) bool {
	if own.skip == 0 && own.take == 0 {
		return true
	}
	key := fmt.Sprint(settings, question)
	s.used[key]++
	n := s.used[key] - own.skip
	return n > 0 && (own.take == 0 || n <= own.take)
}

func (a *activeRule) matches(r ask) bool {
	return (a.Model == "" || a.Model == r.model) && meant(a.on, r.kind) &&
		strings.Contains(r.question, a.Match) && a.regex.MatchString(r.question)
}

// take counts a matching request. take reports whether the rule applies to this request according to Skip and Times.
func (a *activeRule) take() bool {
	n := a.seen - a.Skip
	if a.Times > 0 && n >= a.Times {
		return false
	}
	a.seen++
	return n >= 0
}

// meant reports whether settings apply to requests of this kind. on is the value of the setting "on".
func meant(on, kind string) bool {
	return on == "" || on == kind || on == "chat" && kind != "audio"
}
