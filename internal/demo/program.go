package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"telex/internal/outside"
)

const (
	// askAgain is the pause after a failed request. askTimes is the maximum number of attempts for one question.
	askAgain = time.Second
	askTimes = 8
	// answerTime is the maximum duration of one request.
	answerTime = 5 * time.Minute
)

// program is a client of the daemon's API server. program sends only the new question, because the daemon stores the
// earlier questions in a session. program reads the streamed answer. If the stream breaks off, program repeats the
// request.
type program struct {
	url   string
	pulse *pulse
	ctx   context.Context //nolint:containedctx // all requests use this context; close cancels it
	end   context.CancelFunc
	asks  sync.WaitGroup
	turn  sync.Mutex // held during a request, because two requests of a session must not run at the same time

	mu        sync.Mutex
	exchanges []*exchange
}

// exchange is a request of the program and its answer. The mutex program.mu guards an exchange.
type exchange struct {
	question question
	at       time.Time
	answer   strings.Builder
	events   int // number of events in the stream
	attempts int
	note     string
	done     bool
	stop     context.CancelFunc
}

func newProgram(url string, p *pulse) *program {
	ctx, end := context.WithCancel(context.Background())
	return &program{url: url, pulse: p, ctx: ctx, end: end}
}

// close ends all requests.
func (p *program) close() {
	p.end()
	p.asks.Wait()
}

func (p *program) screen(time.Time) screen {
	p.mu.Lock()
	defer p.mu.Unlock()
	var s screen
	for i, e := range p.exchanges {
		id := strconv.Itoa(i)
		asked := message{ID: "q" + id, Mine: true, At: e.at, Plain: e.question.Text, Body: template.HTML(template.HTMLEscapeString(e.question.Text))} //nolint:gosec // escaped
		if f := e.question.File; f != nil {
			asked.Files = []file{{ID: id, Name: f.Name, Image: f.isImage(), Size: len(f.Content)}}
		}
		text := e.answer.String()
		s.Messages = append(s.Messages, asked, message{
			ID: "a" + id, At: e.at, Edits: e.events, Plain: text, Growing: !e.done, Quote: e.note,
			Body: template.HTML(template.HTMLEscapeString(text)), //nolint:gosec // escaped
		})
		if !e.done {
			s.Activity = fmt.Sprintf("%d events", e.events)
		}
	}
	return s
}

func (p *program) say(q question) error {
	ctx, stop := context.WithCancel(p.ctx)
	e := &exchange{question: q, at: time.Now(), stop: stop}
	p.mu.Lock()
	p.exchanges = append(p.exchanges, e)
	p.mu.Unlock()
	p.asks.Go(func() {
		p.turn.Lock()
		defer p.turn.Unlock()
		defer stop()
		for n := 1; ; n++ {
			err := p.ask(ctx, e)
			p.change(e, func() {
				if e.attempts = n; err == nil {
					e.done = true
				} else if ctx.Err() == nil {
					e.note = fmt.Sprintf("attempt %d: %v", n, err)
				}
			})
			if err == nil {
				return
			}
			if n == askTimes || outside.Pause(ctx, askAgain) != nil {
				p.change(e, func() { e.done = true })
				return
			}
		}
	})
	return nil
}

// stop ends all running requests by closing their connections, as other programs do.
func (p *program) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.exchanges {
		if e.stop(); !e.done {
			e.note = "closed by the program"
		}
	}
}

func (p *program) change(e *exchange, f func()) {
	p.mu.Lock()
	f()
	p.mu.Unlock()
	p.pulse.beat()
}

// ask makes one attempt to get an answer. The new answer replaces the incomplete answer of an earlier attempt.
func (p *program) ask(ctx context.Context, e *exchange) (err error) {
	p.change(e, func() { e.answer.Reset(); e.events = 0 })
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"model": "first", "stream": true, "messages": []any{map[string]any{"role": "user", "content": parts(e.question)}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Telex-Session", "demo")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New("no connection")
	}
	defer res.Body.Close() //nolint:errcheck // the body was read or is no longer needed, so an error of Close has no consequence
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return p.read(res, e)
}

// read reads the stream of an answer to its end.
func (p *program) read(res *http.Response, e *exchange) error {
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
			Error   *struct{ Message string }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return fmt.Errorf("decode event: %w", err)
		}
		if chunk.Error != nil {
			return errors.New(chunk.Error.Message)
		}
		p.change(e, func() {
			e.events++
			for _, c := range chunk.Choices {
				e.answer.WriteString(c.Delta.Content)
			}
		})
	}
	return errors.New("the connection broke off")
}

// parts converts a question to the form that the API accepts.
func parts(q question) any {
	if q.File == nil {
		return q.Text
	}
	data := "data:" + q.File.Mime + ";base64," + base64.StdEncoding.EncodeToString(q.File.Content)
	text := map[string]any{"type": "text", "text": q.Text}
	if q.File.isImage() {
		return []any{text, map[string]any{"type": "image_url", "image_url": map[string]any{"url": data}}}
	}
	return []any{text, map[string]any{"type": "file", "file": map[string]any{"filename": q.File.Name, "file_data": data}}}
}

func (p *program) press(_, name string) error { return none("button", name) }

func (p *program) figures(time.Time) figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := figures{Limit: "requests at once", Max: 64, Sent: len(p.exchanges)}
	for _, e := range p.exchanges {
		f.Calls += e.attempts
		if !e.done {
			f.Used++
		}
	}
	return f
}

func (p *program) file(id string) (string, []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < len(p.exchanges) && p.exchanges[n].question.File != nil {
		f := p.exchanges[n].question.File
		return f.Mime, f.Content, nil
	}
	return "", nil, none("file", id)
}

// disturb does nothing, because no platform is between this program and the daemon.
func (p *program) disturb(disturbance) {}
