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
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"telex/internal/outside"
	"telex/standin/openai"
)

// apiLoad describes the streams that the API server sends at the same time: how many there are, how long each is, and
// how fast the model writes each of them.
type apiLoad struct {
	streams, tokens int
	rate            float64 // tokens per second in each stream; 0: the scenario's rate
}

// probes is the number of short answers with which the bench measures the time to the first token.
const probes = 300

// probeText is a question to which the model gives a short answer.
const probeText = "say: yes"

// server is one of the three servers from which the bench reads streams: telex, the copier, or the model itself.
type server struct {
	name, url string
	process   *process // nil: the model itself
	figures   map[measure]float64
	times     []float64 // times from a request to the first token, in ms
}

// runAPI measures telex's API server. For comparison, runAPI also measures the copier, which forwards the same streams
// unchanged, and the model itself. telex's server, the copier and the model run at the same time, so that other
// programs on the machine slow all of them equally.
func (s scenario) runAPI(ctx context.Context, binary string) (list []result, err error) {
	w, err := newWorld(ctx, worldOptions{latency: s.latency, rate: s.rate, api: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	daemon, err := startDaemon(ctx, binary, w, 0, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, daemon.stop()) }()
	copier, address, err := startCopier(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, copier.stop()) }()
	servers := []*server{{name: "telex", url: w.apiURL, process: daemon}, {name: "copier", url: address, process: copier}, {name: "model", url: w.ModelURL}}
	for _, v := range servers {
		v.figures = make(map[measure]float64)
	}
	if err := errors.Join(probe(ctx, servers), s.load(ctx, w, servers)); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.name, err)
	}
	for _, v := range servers {
		list = append(list, result{Scenario: s.name, Title: s.title, Bot: v.name, Figures: v.figures})
	}
	list[0].Figures[cpuToCopier] = list[0].Figures[cpuPerThousand] / list[1].Figures[cpuPerThousand]
	for _, b := range append([]bar{{wrongStreams, 0}}, s.bars...) {
		value := list[0].Figures[b.Measure]
		list[0].Bars = append(list[0].Bars, verdict{b, value, value <= b.Most})
	}
	return list, nil
}

// probe asks the servers in turn for short answers; the constant probes says how often. probe records the time to the first
// token of each answer, except for the first tenth of the answers.
func probe(ctx context.Context, servers []*server) error {
	for i := range probes {
		for _, v := range servers {
			began := time.Now()
			read, err := readStream(ctx, v.url, probeText)
			if err != nil {
				return err
			}
			if i >= probes/10 { // the first requests, a tenth of all, only open the connections
				v.times = append(v.times, read.arrivals[0].at.Sub(began).Seconds()*1e3)
			}
		}
	}
	model := servers[len(servers)-1]
	for _, v := range servers {
		v.figures[firstToken] = percentile(v.times, 50)
		v.figures[addedToFirst] = percentile(v.times, 50) - percentile(model.times, 50)
	}
	return nil
}

// load reads the scenario's streams from all servers at the same time.
func (s scenario) load(ctx context.Context, w *world, servers []*server) error {
	if err := outside.Pause(ctx, idleFor); err != nil {
		return err
	}
	before := make([]usage, len(servers))
	for i, v := range servers {
		if v.process == nil {
			continue
		}
		var err error
		if before[i], err = v.process.usage(); err != nil {
			return err
		}
	}
	var ends []func(map[measure]float64) error
	for i, v := range servers {
		ends = append(ends, s.startStreams(ctx, w, v.url, i*s.api.streams))
	}
	for i, v := range servers {
		if err := ends[i](v.figures); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	for i, v := range servers {
		if v.process == nil {
			continue
		}
		after, err := v.process.usage()
		if err != nil {
			return err
		}
		v.figures[cpuPerThousand] = (after.cpu - before[i].cpu).Seconds() * 1e6 / float64(s.api.streams*s.api.tokens)
		v.figures[peakMemory] = after.peak
	}
	return nil
}

// startStreams begins to read the scenario's streams, and numbers them, beginning with the number first. The returned function
// waits until the streams end. After that, the returned function records how many streams were wrong, and how old the tokens
// were on arrival.
func (s scenario) startStreams(ctx context.Context, w *world, url string, first int) func(map[measure]float64) error {
	if s.api.streams == 0 {
		return func(map[measure]float64) error { return nil }
	}
	var group errgroup.Group
	answers, reads := make([]answer, s.api.streams), make([]apiStream, s.api.streams)
	question := func(i int) string { return fmt.Sprintf("Stream %d.", firstUser+first+i) }
	for i := range s.api.streams {
		answers[i] = plainAnswer(uint64(first+i), s.api.tokens)
		do := fmt.Sprintf("jitter=0.3 say=%q", answers[i].text)
		if s.api.rate > 0 {
			do += fmt.Sprintf(" rate=%g", s.api.rate)
		}
		if err := w.Model.Rule(openai.Rule{Match: question(i), Do: do}); err != nil {
			return func(map[measure]float64) error { return err }
		}
	}
	for i := range s.api.streams {
		group.Go(func() (err error) {
			reads[i], err = readStream(ctx, url, question(i))
			return err
		})
	}
	return func(f map[measure]float64) error {
		if err := group.Wait(); err != nil {
			return err
		}
		var delays []float64
		wrong := 0
		for _, r := range w.Model.Requests() {
			i := slices.IndexFunc(reads, func(a apiStream) bool { return a.question == r.Question })
			if i < 0 {
				continue
			}
			if reads[i].text != answers[i].text {
				wrong++
			}
			delays = append(delays, reads[i].delays(r.Marks)...)
		}
		f[wrongStreams] += float64(wrong)
		f[tokenDelayP50], f[tokenDelayP95] = percentile(delays, 50), percentile(delays, 95)
		return nil
	}
}

// apiStream is the stream of an answer that a client of the API has read.
type apiStream struct {
	question, text string
	arrivals       []arrival
}

// arrival says when a piece of text arrived, and how long the text was up to the end of this piece.
type arrival struct {
	at    time.Time
	bytes int
}

// delays returns how old each piece of text was when it arrived, in ms. The parameter written contains the times at which the
// model wrote the text.
func (a apiStream) delays(written []openai.Mark) []float64 {
	var list []float64
	i := 0
	for _, m := range written {
		for i < len(a.arrivals) && a.arrivals[i].bytes < m.Bytes {
			i++
		}
		if i < len(a.arrivals) {
			list = append(list, a.arrivals[i].at.Sub(m.Time).Seconds()*1e3)
		}
	}
	return list
}

// readStream sends a request to a server with the Chat Completions API, and reads the stream to its end.
func readStream(ctx context.Context, url, question string) (out apiStream, err error) {
	out.question = question
	request, err := json.Marshal(map[string]any{
		"model": "standin", "stream": true, "messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return out, err
	}
	n := &naive{model: url + "/v1/chat/completions", client: http.DefaultClient}
	body, err := n.post(ctx, n.model, "application/json", bytes.NewReader(request))
	if err != nil {
		return out, err
	}
	defer body.Close() //nolint:errcheck // the body was read to its end, so an error of Close has no consequence
	var text strings.Builder
	ended := false
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		ended = ended || data == "[DONE]"
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return out, fmt.Errorf("%s: %w", data, err)
		}
		for _, c := range chunk.Choices {
			if c.Delta.Content != "" {
				text.WriteString(c.Delta.Content)
				out.arrivals = append(out.arrivals, arrival{time.Now(), text.Len()})
			}
		}
	}
	if out.text = text.String(); !ended || len(out.arrivals) == 0 {
		return out, fmt.Errorf("%s: the stream ended after %d bytes", question, len(out.text))
	}
	return out, nil
}

// copierCommand is the first argument with which this program runs as the copier.
const copierCommand = "copier"

// startCopier starts this program as the copier, and returns its address.
func startCopier(ctx context.Context, w *world) (p *process, url string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	address, err := outside.FreeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	if p, err = launch("", program, copierCommand, address, w.ModelURL); err != nil {
		return nil, "", err
	}
	for began := time.Now(); ; {
		if _, err = readStream(ctx, "http://"+address, probeText); err == nil {
			return p, "http://" + address, nil
		}
		if time.Since(began) > startPatience || outside.Pause(ctx, 10*time.Millisecond) != nil {
			return nil, "", errors.Join(err, p.stop())
		}
	}
}

// runCopier forwards requests to the model and copies the responses unchanged, until ctx ends.
func runCopier(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s: want an address to listen on and the model's", copierCommand)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := copyAnswer(rw, r, client, args[1]); err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
		}
	})}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func copyAnswer(rw http.ResponseWriter, r *http.Request, client *http.Client, model string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, model+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = r.Header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read, so an error of Close has no consequence
	rw.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	rw.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(rw).Flush
	for buffer := make([]byte, 4<<10); ; {
		n, err := response.Body.Read(buffer)
		if _, failed := rw.Write(buffer[:n]); failed != nil || err != nil {
			return nil // the stream or the client has ended
		}
		if err := flush(); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
}
