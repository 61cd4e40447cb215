//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// maxPeak is the maximum number of bytes of memory that the daemon may use, no matter what its tool servers do.
const maxPeak = 150 << 20

// hostileCase is one misbehaviour over one transport.
type hostileCase struct {
	misbehaviour
	way string
}

func hostileCases() (list []hostileCase) {
	for _, h := range misbehaviours() {
		for _, way := range h.ways {
			list = append(list, hostileCase{h, way})
		}
	}
	return list
}

// figures contains the numbers that the test prints.
type figures struct {
	mu                                        sync.Mutex
	cases, calls, answers, unasked, processes int
	peak                                      int64
	worst                                     string
}

func buildTelex(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "telex")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// meetAll runs several daemons at the same time, each with the tool servers of a few cases.
func meetAll(t *testing.T, program string, all []hostileCase, sum *figures) {
	t.Helper()
	const together, daemons = 8, 4
	groups := slices.Collect(slices.Chunk(all, together))
	var next atomic.Int32
	var running sync.WaitGroup
	for range daemons { // use goroutines, because parallel subtests would keep other tests waiting
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(groups); i = int(next.Add(1)) - 1 {
				t.Run(groups[i][0].name+" and on", func(t *testing.T) { meet(t, program, groups[i], i%2 == 0, sum) })
			}
		})
	}
	running.Wait()
}

// meet runs a daemon with the tool servers of a group of cases, and then stops or kills it.
func meet(t *testing.T, program string, group []hostileCase, kill bool, sum *figures) {
	t.Helper()
	word := fmt.Sprintf("600%08d", rand.IntN(1e8))
	effects := t.TempDir()
	file := func(i int) string { return filepath.Join(effects, strconv.Itoa(i)) }
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 100_000})
	how := launch{wrap: []string{"sh", "-c", `shift; exec "` + program + `" "$@"`, "telex"}}
	p := how.start(t, "run", "--config", w.config(sections{access: "{default: allow, limits: {turns_per_minute: 0}}", more: hostileServers(t, group, word, file)}))
	p.awaitLog("receiving", 1)
	took := ""
	for i, c := range group {
		w.ask(fmt.Sprintf("call: c%d_dig {}\ncall: c%d_wipe {}", i, i))
		began := time.Now()
		ended := time.After(patience)
		for len(p.logged("turn ended")) <= i {
			select {
			case <-ended:
				t.Fatalf("%s, %s: no answer", c.name, c.way)
			case <-time.After(20 * time.Millisecond):
			}
			if !p.running() {
				t.Fatalf("%s, %s: the daemon died", c.name, c.way)
			}
		}
		took += fmt.Sprintf("%s, %s: %s\n", c.name, c.way, time.Since(began).Round(10*time.Millisecond))
	}
	peak := peakMemory(t, p.cmd.Process.Pid)
	t.Logf("peak %d MiB\n%s", peak>>20, took)
	if kill {
		p.signal(syscall.SIGKILL)
		p.exit(patience)
	} else {
		p.signal(syscall.SIGTERM)
		p.exit(2 * patience)
	}
	left := processesWith(word, effects)
	for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = processesWith(word, effects) {
		// Poll, because the processes are not children of the test. The code below reports the processes that still run.
		time.Sleep(50 * time.Millisecond)
	}
	for _, process := range left {
		t.Errorf("left: %s", process)
	}
	sum.mu.Lock()
	defer sum.mu.Unlock()
	sum.cases, sum.answers, sum.processes = sum.cases+len(group), sum.answers+len(group), sum.processes+len(left)
	for i, c := range group {
		raw, _ := os.ReadFile(file(i)) // the file is missing if the tool was never called
		dug := strings.Count(string(raw), "dig\n")
		unasked := strings.Count(string(raw), "\n") - min(dug, 1)
		sum.calls, sum.unasked = sum.calls+min(dug, 1), sum.unasked+unasked
		if unasked > 0 {
			t.Errorf("%s, %s: %d calls that nobody asked for: %q", c.name, c.way, unasked, raw)
		}
	}
	if peak > maxPeak {
		t.Errorf("the daemon took %d MiB with %v", peak>>20, names(group))
	}
	if peak > sum.peak {
		sum.peak, sum.worst = peak, strings.Join(names(group), "; ")
	}
}

func names(group []hostileCase) (list []string) {
	for _, c := range group {
		list = append(list, c.name+", "+c.way)
	}
	return list
}

// hostileServers returns a configuration section with one tool server for each case. The tool servers are named c0, c1
// and so on.
func hostileServers(t *testing.T, group []hostileCase, word string, file func(int) string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"tools: {approval_timeout: 300ms}", "agent: {limits: {turn: 20s}}", "mcp_servers:"}
	for i, c := range group {
		where := fmt.Sprintf("command: %q, args: [%s, %q, %q, %q]", self, hostileName, c.name, file(i), word)
		if c.way != byPipe {
			s := hostileServer{how: c.misbehaviour, effects: file(i), word: word}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r, c.way) }))
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			where = fmt.Sprintf("url: %q", web.URL)
		}
		lines = append(lines, fmt.Sprintf("  - {name: c%d, %s, auto_approve: [dig], timeout: 2s}", i, where))
	}
	return strings.Join(lines, "\n")
}

// peakMemory returns the maximum memory that a process has used.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the kernel tells no peak")
	return 0
}

// processesWith returns the processes whose arguments contain one of the words.
func processesWith(words ...string) (found []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(string(raw), word) }) {
			found = append(found, strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return found
}
