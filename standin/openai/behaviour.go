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

// Named places for an ending, beside the number of tokens after which it happens.
const (
	afterText   = math.MaxInt - 2 // After the last token, before the chunk with finish_reason.
	afterFinish = math.MaxInt - 1 // After the chunk with finish_reason, before usage.
	afterUsage  = math.MaxInt     // After the usage chunk, before [DONE].
	beforeAll   = -1              // Before the status line.
)

// ending is a way in which an answer stops short.
type ending struct {
	how   string // cut, eof, hang or fail; empty for a complete answer.
	after int    // Tokens, or one of the named places.
}

// behaviour says how one request is answered. The zero value, with a rate, is a well-behaved
// provider; settings change it one after the other.
type behaviour struct {
	on         string // stream, plain, chat or audio: other requests are not touched.
	skip, take int    // Requests let pass first, requests touched then (0: all).

	rate             float64 // Tokens per second; ≤ 0 sends without pauses.
	jitter           float64 // Share of an interval by which a token may come early or late.
	delay, first     time.Duration
	stall            int // Tokens before a pause of stallFor.
	stallFor         time.Duration
	comment          string
	commentEvery     int // Tokens.
	commentInterval  time.Duration
	chunk            int // Tokens in one delta.
	pad              int // Bytes of padding in each chunk, on top of the usual.
	noise            int // A meaningless chunk after every so many tokens.
	usage            string
	cached           int
	context          int     // Of the model, in tokens; 0 is without end.
	tokenFactor      float64 // Of the count of the prompt; 0 is 1.
	finish           *string
	say              *string
	think, refusal   string
	thinkAs, callsAs string
	calls            []call
	again            bool // Calls even when the results of earlier calls are there.
	end              ending
	failAs           string
	refuse, require  []string
	status           int
	code, message    string
	body             string
	header           http.Header
	as               string
	contentType      string
	crlf, noSpace    bool
	multiline        bool
	noLastNewline    bool
}

// call is a tool call that the model makes.
type call struct{ name, arguments string }

// errUnknownKey is returned by the groups of settings for keys of other groups.
var errUnknownKey = errors.New("unknown key")

// apply changes b by settings in their order; a later one wins.
func (b *behaviour) apply(settings []setting) error {
	for _, s := range settings {
		err := errUnknownKey
		for _, set := range []func(key, value string) error{b.setPace, b.setAnswer, b.setEnding, b.setError, b.setWire} {
			if err = set(s.key, s.value); !errors.Is(err, errUnknownKey) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("setting %s: %w", s.key, err)
		}
	}
	return nil
}

// setPace sets when things happen, and to which requests.
func (b *behaviour) setPace(key, value string) (err error) {
	switch key {
	case "on":
		b.on, err = oneOf(value, "stream", "plain", "chat", "audio")
	case "skip":
		b.skip, err = count(value)
	case "times":
		b.take, err = count(value)
	case "rate":
		if b.rate, err = strconv.ParseFloat(value, 64); math.IsNaN(b.rate) {
			err = errors.New("want tokens per second")
		}
	case "jitter":
		if b.jitter, err = strconv.ParseFloat(value, 64); !(b.jitter >= 0 && b.jitter <= 1) {
			err = errors.New("want a share from 0 to 1")
		}
	case "delay":
		b.delay, err = duration(value)
	case "first":
		b.first, err = duration(value)
	case "stall":
		b.stall, err = count(value)
	case "stall_for":
		b.stallFor, err = duration(value)
	case "comment":
		b.comment, err = line(value)
	case "comment_every":
		b.commentEvery, err = count(value)
	case "comment_interval":
		b.commentInterval, err = duration(value)
	case "chunk":
		b.chunk, err = count(value)
	default:
		err = errUnknownKey
	}
	return err
}

// setAnswer sets what is answered.
func (b *behaviour) setAnswer(key, value string) (err error) {
	switch key {
	case "say":
		b.say = &value
	case "empty":
		b.say = new(string)
		err = noValue(value)
	case "think":
		b.think = value
	case "think_as":
		b.thinkAs, err = oneOf(value, "reasoning_content", "reasoning", "both", "tags", "open_tag_missing")
	case "refusal":
		b.refusal = value
	case "finish":
		b.finish = &value
	case "call":
		name, arguments, _ := strings.Cut(value, " ")
		b.calls = append(b.calls, call{name: name, arguments: arguments})
	case "again":
		b.again, err = true, noValue(value)
	case "calls_as":
		b.callsAs, err = oneOf(value, "index", "gemini", "ollama", "repeat_ids", "empty_ids", "null_index")
	case "usage":
		b.usage, err = oneOf(value, "on", "off", "each")
	case "cached":
		b.cached, err = count(value)
	case "context":
		b.context, err = count(value)
	case "token_factor":
		if b.tokenFactor, err = strconv.ParseFloat(value, 64); !(b.tokenFactor > 0 && b.tokenFactor <= 100) {
			err = errors.New("want a factor above 0, up to 100")
		}
	case "noise":
		b.noise, err = count(value)
	case "pad":
		b.pad, err = count(value)
	default:
		err = errUnknownKey
	}
	return err
}

// setEnding sets how an answer stops short.
func (b *behaviour) setEnding(key, value string) (err error) {
	switch key {
	case "cut", "eof", "hang", "fail":
		b.end.how = key
		b.end.after, err = place(value)
		if b.end.after == beforeAll && key != "cut" && key != "hang" {
			err = errors.New("only cut and hang can happen at the start")
		}
	case "fail_as":
		b.failAs, err = oneOf(value, "openai", "vllm", "openrouter", "event", "nested")
	default:
		err = errUnknownKey
	}
	return err
}

// setError sets an answer that is an error from the beginning.
func (b *behaviour) setError(key, value string) (err error) {
	set := func(name string) {
		if b.header == nil {
			b.header = http.Header{}
		}
		value, err = line(value)
		b.header.Set(name, value)
	}
	switch key {
	case "status":
		b.status, err = strconv.Atoi(value)
		if err == nil && (b.status < 400 || b.status > 599) {
			err = errors.New("want 400 to 599")
		}
	case "code":
		b.code = value
	case "message":
		b.message = value
	case "body":
		b.body, err = oneOf(value, "json", "html", "empty")
	case "retry_after":
		set("Retry-After")
	case "retry_after_ms":
		set("Retry-After-Ms")
	case "should_retry":
		set("X-Should-Retry")
	case "refuse":
		b.refuse = strings.Split(value, ",")
	case "require":
		b.require = strings.Split(value, ",")
		for _, r := range b.require {
			if _, err = oneOf(r, "reasoning_content", "thought_signature"); err != nil {
				break
			}
		}
	default:
		err = errUnknownKey
	}
	return err
}

// setWire sets how the bytes look.
func (b *behaviour) setWire(key, value string) (err error) {
	switch key {
	case "as":
		b.as, err = oneOf(value, "sse", "json", "html")
	case "content_type":
		b.contentType, err = line(value)
	case "crlf":
		b.crlf, err = true, noValue(value)
	case "nospace":
		b.noSpace, err = true, noValue(value)
	case "multiline":
		b.multiline, err = true, noValue(value)
	case "no_last_newline":
		b.noLastNewline, err = true, noValue(value)
	default:
		err = errUnknownKey
	}
	return err
}

func oneOf(value string, allowed ...string) (string, error) {
	if !slices.Contains(allowed, value) {
		return "", fmt.Errorf("want one of %s, got %q", strings.Join(allowed, ", "), value)
	}
	return value, nil
}

func count(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxAsked {
		return 0, fmt.Errorf("want a number from 0 to %d, got %q", maxAsked, value)
	}
	return n, nil
}

func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a time such as 250ms, got %q", value)
	}
	return d, nil
}

func line(value string) (string, error) {
	if strings.ContainsAny(value, "\r\n") {
		return "", errors.New("want one line")
	}
	return value, nil
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
	n, err := count(value)
	if err != nil {
		return 0, fmt.Errorf("want a number of tokens, start, text, finish or usage, got %q", value)
	}
	return n, nil
}
