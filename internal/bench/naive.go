package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"telex/internal/outside"
)

// naiveRetries is how often the naive loop repeats a failed send or a failed last edit.
const naiveRetries = 20

// naive is the usual loop of simple bots, with which the bench compares telex. One goroutine per reply edits the
// reply's message at each tick of a timer, ignores limits, and repeats refused calls at once. naive makes its HTTP
// calls itself and shares no code with telex.
type naive struct {
	api, model string
	interval   time.Duration // time between two edits; 0: the loop reads the model's answers and shows nothing
	client     *http.Client
	running    sync.WaitGroup
}

// naiveCommand is the first argument with which this program runs as the naive loop.
const naiveCommand = "naive"

// startNaive starts this program as the naive loop. If interval is 0, the loop only reads the model's streams and
// shows nothing.
func startNaive(ctx context.Context, w *world, interval time.Duration) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startProcess(ctx, w, "", program, naiveCommand,
		w.TelegramURL+"/bot"+w.Telegram.Token()+"/", w.ModelURL+"/v1/chat/completions", interval.String())
}

// runNaive runs the naive loop until ctx ends.
func runNaive(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s: want the addresses of the platform and of the model, and an interval", naiveCommand)
	}
	interval, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	n := &naive{
		api: args[0], model: args[1], interval: interval,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}},
	}
	n.receive(ctx)
	n.running.Wait()
	return nil
}

func (n *naive) receive(ctx context.Context) {
	offset := 0
	for ctx.Err() == nil {
		var updates []struct {
			ID      int `json:"update_id"`
			Message struct {
				Chat struct{ ID int64 }
				Text string
			}
		}
		params := url.Values{"offset": {strconv.Itoa(offset)}, "timeout": {"30"}}
		if err := n.call(ctx, "getUpdates", params, &updates); err != nil {
			if outside.Pause(ctx, time.Second) != nil {
				return
			}
		}
		for _, u := range updates {
			offset = u.ID + 1
			n.running.Go(func() {
				if n.interval == 0 {
					_ = n.read(ctx, u.Message.Text) // ignore the text: the model's stand-in records what it wrote
					return
				}
				n.reply(ctx, u.Message.Chat.ID, u.Message.Text)
			})
		}
	}
}

// reply shows one answer in a chat while the model writes it.
func (n *naive) reply(ctx context.Context, chat int64, question string) {
	var text strings.Builder
	tokens := make(chan string)
	n.running.Go(func() {
		defer close(tokens)
		_ = n.stream(ctx, question, tokens) // even after an error, the loop shows the text as if it were the complete answer
	})
	tick := time.NewTicker(n.interval)
	defer tick.Stop()
	message, shown := 0, ""
	for open := true; open; {
		var token string
		select {
		case token, open = <-tokens:
			text.WriteString(token)
			continue
		case <-tick.C:
		}
		if text.Len() == 0 || text.String() == shown {
			continue
		}
		// During a call, the loop reads no tokens, as is usual in simple bots.
		now := text.String()
		if id, err := n.show(ctx, chat, message, now+cursor); err == nil {
			message, shown = id, now
		}
	}
	for range naiveRetries {
		if _, err := n.show(ctx, chat, message, text.String()); err == nil || ctx.Err() != nil {
			return
		}
	}
}

// show sends or edits the message and returns its id.
func (n *naive) show(ctx context.Context, chat int64, message int, text string) (int, error) {
	params := url.Values{"chat_id": {strconv.FormatInt(chat, 10)}, "text": {text}}
	method := "sendMessage"
	if message != 0 {
		method = "editMessageText"
		params.Set("message_id", strconv.Itoa(message))
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err := n.call(ctx, method, params, &sent)
	return sent.ID, err
}

func (n *naive) call(ctx context.Context, method string, params url.Values, result any) error {
	body, err := n.post(ctx, n.api+method, "application/x-www-form-urlencoded", strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // the body was read, so an error of Close has no consequence
	var answer struct {
		OK          bool
		Description string
		Result      json.RawMessage
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if !answer.OK {
		return errors.New(answer.Description)
	}
	return json.Unmarshal(answer.Result, result)
}

// ask sends a question to the model and returns the response body.
func (n *naive) ask(ctx context.Context, question string) (io.ReadCloser, error) {
	request, err := json.Marshal(map[string]any{
		"model": "standin", "stream": true, "messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return nil, err
	}
	return n.post(ctx, n.model, "application/json", bytes.NewReader(request))
}

// read asks the model a question and ignores the answer.
func (n *naive) read(ctx context.Context, question string) error {
	body, err := n.ask(ctx, question)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // the body was read, so an error of Close has no consequence
	_, err = io.Copy(io.Discard, body)
	return err
}

// stream asks the model a question and sends the pieces of the answer to tokens.
func (n *naive) stream(ctx context.Context, question string, tokens chan<- string) error {
	body, err := n.ask(ctx, question)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // the body was read, so an error of Close has no consequence
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return err
		}
		for _, c := range chunk.Choices {
			select {
			case tokens <- c.Delta.Content:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (n *naive) post(ctx context.Context, address, kind string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Authorization", "Bearer "+modelKey)
	response, err := n.client.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}
