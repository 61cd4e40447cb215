package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// The API server gets ten thousand requests with random bodies, and must answer each of them with the status 200, 400 or
// 404. The daemon must neither crash nor use more and more memory.
func TestAPIServerRandomBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 10_000})
	address, d := w.apiServer("")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	random := rand.New(rand.NewPCG(1, 2))
	seeds := []string{
		`{"model":"main","messages":[{"role":"user","content":"say: hi"}],"stream":true,"tools":[{"type":"function","function":{"name":"a","parameters":{}}}]}`,
		`{"model":"main","input":[{"role":"user","content":[{"type":"input_text","text":"say: hi"}]}],"text":{"format":{"type":"text"}},"previous_response_id":"x"}`,
		`{"model":"main","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
	}
	body := func() string {
		seed := []byte(seeds[random.IntN(len(seeds))])
		for range 1 + random.IntN(4) {
			switch at := random.IntN(len(seed)); random.IntN(4) {
			case 0:
				seed[at] = byte(random.IntN(256))
			case 1:
				seed = seed[:at+1]
			case 2:
				seed = append(seed[:at:at], append([]byte(`[{"a":`), seed[at:]...)...)
			case 3:
				seed = append(seed, seed[at:]...)
			}
		}
		return string(seed)
	}
	send := func(n int) {
		statuses := make(map[int]int)
		for range n {
			path := []string{"/v1/chat/completions", "/v1/responses"}[random.IntN(2)]
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, strings.NewReader(body()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+apiKey)
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			if err = errors.Join(err, res.Body.Close()); err != nil {
				t.Fatal(err)
			}
			statuses[res.StatusCode]++
		}
		for status := range statuses {
			if status != 200 && status != 400 && status != 404 {
				t.Errorf("got statuses %v, want 200, 400 and 404", statuses)
				break
			}
		}
	}
	send(2000) // enough requests for the heap to reach its final size
	before := residentKiB(t, d.cmd.Process.Pid)
	send(10_000)
	after := residentKiB(t, d.cmd.Process.Pid)
	t.Logf("resident: %d KiB, then %d KiB", before, after)
	if after-before > 10<<10 {
		t.Errorf("resident memory grew from %d KiB to %d KiB, more than 10 MiB", before, after)
	}
	d.stop()
}

// residentKiB returns the resident memory of a process.
func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}
