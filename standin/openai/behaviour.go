package openai

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Named places at which an answer may end early. Any other place is given as a number of tokens.
const (
	afterText   = math.MaxInt - 2 // after the last token, before the chunk with finish_reason
	afterFinish = math.MaxInt - 1 // after the chunk with finish_reason, before usage
	afterUsage  = math.MaxInt     // after the usage chunk, before [DONE]
	beforeAll   = -1              // before the status line
)

// ending describes where and how an answer ends early.
type ending struct {
	how   string // cut, eof, hang or fail; empty for a complete answer
	after int    // a number of tokens, or one of the named places
}

// behaviour describes how the server answers one request. Without any settings, the server answers like a provider
// without faults. Each setting changes a field of the behaviour.
type behaviour struct {
	on         string // stream, plain, chat or audio: the kind of requests to which the settings apply
	skip, take int    // number of requests to skip, and number of requests after them to which the settings apply (0: all)

	rate             float64 // tokens per second; 0 or less: no pauses
	jitter           float64 // fraction of an interval by which a token may be early or late
	delay, first     time.Duration
	stall            int // number of tokens before a pause of the duration stallFor
	stallFor         time.Duration
	comment          string
	commentEvery     int // number of tokens between two SSE comments
	commentInterval  time.Duration
	chunk            int // number of tokens in one delta
	pad              int // bytes of padding in each chunk, in addition to the usual padding
	noise            int // number of tokens between two meaningless chunks
	usage            string
	cached           int
	context          int     // the model's context window in tokens; 0: no limit
	tokenFactor      float64 // factor by which the number of prompt tokens is multiplied; 0 means 1
	finish           *string
	say              *string
	think, refusal   string
	thinkAs, callsAs string
	calls            []call
	again            bool // call tools even if the request already contains results of calls
	end              ending
	failAs           string
	refuse, require  []string
	status           int
	code, message    string
	body             string
	headers          http.Header
	as               string
	contentType      string
	crlf, noSpace    bool
	multiline        bool
	noLastNewline    bool
}

// call is a tool call that the model makes.
type call struct{ name, arguments string }

// apply applies settings in order. If two settings have the same key, the later one takes effect.
func (b *behaviour) apply(settings []setting) error {
	known := b.settings()
	for _, s := range settings {
		set, ok := known[s.key]
		if !ok {
			return fmt.Errorf("setting %s: unknown key", s.key)
		}
		if err := set(s.value); err != nil {
			return fmt.Errorf("setting %s: %w", s.key, err)
		}
	}
	return nil
}

// settings returns all settings by key. Each function parses a value and stores it in the behaviour b.
func (b *behaviour) settings() map[string]func(value string) error {
	list := map[string]func(string) error{
		// These settings select requests, or determine times.
		"on":               oneOf(&b.on, "stream", "plain", "chat", "audio"),
		"skip":             count(&b.skip),
		"times":            count(&b.take),
		"rate":             number(&b.rate, func(f float64) bool { return !math.IsNaN(f) }, "want tokens per second"),
		"jitter":           number(&b.jitter, func(f float64) bool { return f >= 0 && f <= 1 }, "want a share from 0 to 1"),
		"delay":            duration(&b.delay),
		"first":            duration(&b.first),
		"stall":            count(&b.stall),
		"stall_for":        duration(&b.stallFor),
		"comment":          line(&b.comment),
		"comment_every":    count(&b.commentEvery),
		"comment_interval": duration(&b.commentInterval),
		"chunk":            count(&b.chunk),

		// These settings determine the content of the answer.
		"say":          optional(&b.say),
		"empty":        func(value string) error { b.say = new(string); return noValue(value) },
		"think":        text(&b.think),
		"think_as":     oneOf(&b.thinkAs, "reasoning_content", "reasoning", "both", "tags", "open_tag_missing"),
		"refusal":      text(&b.refusal),
		"finish":       optional(&b.finish),
		"call":         b.addCall,
		"again":        flag(&b.again),
		"calls_as":     oneOf(&b.callsAs, "index", "gemini", "ollama", "repeat_ids", "empty_ids", "null_index"),
		"usage":        oneOf(&b.usage, "on", "off", "each"),
		"cached":       count(&b.cached),
		"context":      count(&b.context),
		"token_factor": number(&b.tokenFactor, func(f float64) bool { return f > 0 && f <= 100 }, "want a factor above 0, up to 100"),
		"noise":        count(&b.noise),
		"pad":          count(&b.pad),

		// These settings make the server send an error in place of an answer.
		"status":         b.setStatus,
		"code":           text(&b.code),
		"message":        text(&b.message),
		"body":           oneOf(&b.body, "json", "html", "empty"),
		"retry_after":    b.header("Retry-After"),
		"retry_after_ms": b.header("Retry-After-Ms"),
		"should_retry":   b.header("X-Should-Retry"),
		"refuse":         func(value string) error { b.refuse = strings.Split(value, ","); return nil },
		"require":        b.setRequired,

		// These settings change the encoding of the answer.
		"fail_as":         oneOf(&b.failAs, "openai", "vllm", "openrouter", "event", "nested"),
		"as":              oneOf(&b.as, "sse", "json", "html"),
		"content_type":    line(&b.contentType),
		"crlf":            flag(&b.crlf),
		"nospace":         flag(&b.noSpace),
		"multiline":       flag(&b.multiline),
		"no_last_newline": flag(&b.noLastNewline),
	}
	for _, how := range []string{"cut", "eof", "hang", "fail"} {
		list[how] = func(value string) error { return b.setEnding(how, value) }
	}
	return list
}

func (b *behaviour) addCall(value string) error {
	name, arguments, _ := strings.Cut(value, " ")
	b.calls = append(b.calls, call{name: name, arguments: arguments})
	return nil
}

// setEnding sets how an answer ends early.
func (b *behaviour) setEnding(how, value string) (err error) {
	b.end.how = how
	b.end.after, err = place(value)
	if b.end.after == beforeAll && how != "cut" && how != "hang" {
		return errors.New("only cut and hang can happen at the start")
	}
	return err
}

func (b *behaviour) setStatus(value string) (err error) {
	b.status, err = strconv.Atoi(value)
	if err == nil && (b.status < 400 || b.status > 599) {
		return errors.New("want 400 to 599")
	}
	return err
}

func (b *behaviour) setRequired(value string) error {
	b.require = strings.Split(value, ",")
	for _, one := range b.require {
		if err := oneOf(&one, "reasoning_content", "thought_signature")(one); err != nil {
			return err
		}
	}
	return nil
}

// header sets a header of the answer.
func (b *behaviour) header(name string) func(string) error {
	return func(value string) error {
		if b.headers == nil {
			b.headers = http.Header{}
		}
		if err := line(&value)(value); err != nil {
			return err
		}
		b.headers.Set(name, value)
		return nil
	}
}

func text(to *string) func(string) error {
	return func(value string) error { *to = value; return nil }
}

// optional sets a text that may be empty. An empty text differs from a text that is not set.
func optional(to **string) func(string) error {
	return func(value string) error { *to = &value; return nil }
}

func oneOf(to *string, allowed ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(allowed, value) {
			return fmt.Errorf("want one of %s, got %q", strings.Join(allowed, ", "), value)
		}
		*to = value
		return nil
	}
}

func count(to *int) func(string) error {
	return func(value string) (err error) {
		if *to, err = strconv.Atoi(value); err != nil || *to < 0 || *to > maxAsked {
			return fmt.Errorf("want a number from 0 to %d, got %q", maxAsked, value)
		}
		return nil
	}
}

func number(to *float64, ok func(float64) bool, want string) func(string) error {
	return func(value string) (err error) {
		if *to, err = strconv.ParseFloat(value, 64); err == nil && !ok(*to) {
			return errors.New(want)
		}
		return err
	}
}

func duration(to *time.Duration) func(string) error {
	return func(value string) (err error) {
		if *to, err = time.ParseDuration(value); err != nil || *to < 0 {
			return fmt.Errorf("want a time such as 250ms, got %q", value)
		}
		return nil
	}
}

func line(to *string) func(string) error {
	return func(value string) error {
		if strings.ContainsAny(value, "\r\n") {
			return errors.New("want one line")
		}
		*to = value
		return nil
	}
}

func flag(to *bool) func(string) error {
	return func(value string) error { *to = true; return noValue(value) }
}

func noValue(value string) error {
	if value != "" {
		return fmt.Errorf("takes no value, got %q", value)
	}
	return nil
}

func place(value string) (int, error) {
	switch value {
	case "start":
		return beforeAll, nil
	case "text":
		return afterText, nil
	case "finish":
		return afterFinish, nil
	case "usage":
		return afterUsage, nil
	}
	var n int
	if err := count(&n)(value); err != nil {
		return 0, fmt.Errorf("want a number of tokens, start, text, finish or usage, got %q", value)
	}
	return n, nil
}
