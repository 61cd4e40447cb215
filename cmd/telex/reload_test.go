package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// reloadable is a world with a daemon whose configuration changes.
type reloadable struct {
	*world
	state
	daemon *process
	file   string
}

func newReloadable(t *testing.T, s sections, env ...string) *reloadable {
	t.Helper()
	r := &reloadable{world: newWorld(t, telegram.Options{}, openai.Options{}), state: newState(t)}
	if s.platforms != "" {
		s.platforms = strings.ReplaceAll(s.platforms, "$telegram", r.account("telegram", testToken))
	}
	r.file = r.config(s)
	r.daemon = launch{env: append(env, r.env)}.start(t, "run", "--config", r.file)
	r.daemon.awaitLog("receiving", 1)
	return r
}

// account returns the entry for one account in the section platforms.
func (r *reloadable) account(name, token string) string {
	return fmt.Sprintf("%s: {kind: telegram, token: %q, api_base: %q}", name, token, r.telegramURL)
}

// write changes the configuration file.
func (r *reloadable) write(s sections) {
	r.t.Helper()
	if s.platforms != "" {
		s.platforms = strings.ReplaceAll(s.platforms, "$telegram", r.account("telegram", testToken))
	}
	text, err := os.ReadFile(r.config(s))
	if err == nil {
		err = os.WriteFile(r.file, text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// reload changes the configuration and runs telex reload. The output must list the changes in want.
func (r *reloadable) reload(s sections, want ...string) {
	r.t.Helper()
	r.write(s)
	stdout, stderr := r.command(r.t, exitDone, "reload")
	if want := strings.Join(want, "\n") + "\n"; stdout != want {
		r.t.Errorf("telex reload prints %q, want %q; stderr %q", stdout, want, stderr)
	}
}

// answers asks a question and compares the whole answer with want.
func (r *reloadable) answers(question, want string) {
	r.t.Helper()
	n := len(r.replies(ada))
	r.ask(question)
	r.await("the answer to "+question, func() bool {
		list := r.texts(ada)
		return len(list) == n+1 && list[n] == want
	})
}

// asked returns the body of the newest request that the model received.
func (r *reloadable) asked() string {
	list := r.model.Requests()
	return string(list[len(list)-1].Body)
}

// A reload must be able to change every section of the configuration.
func TestReloadSections(t *testing.T) {
	t.Parallel()
	r := newReloadable(t, sections{})
	if out, stderr := r.command(t, exitDone, "reload"); out != "" || !strings.Contains(stderr, "nothing has changed") {
		t.Errorf("without a change it prints %q and %q", out, stderr)
	}
	r.answers("say: one", "one")

	r.reload(sections{more: `agent: {system_prompt: "You are a lighthouse."}`}, "agent.system_prompt changed")
	r.answers("say: two", "two")
	wantText(t, "the request", r.asked(), "You are a lighthouse.")

	r.reload(sections{more: `tools: {enabled: [time, memory]}`}, "agent.system_prompt changed", "tools.enabled changed")
	r.answers("say: three", "three")
	wantText(t, "the request", r.asked(), `"remember"`)

	r.reload(sections{more: `texts: {nothing_to_stop: "Nothing at all."}`}, "tools.enabled changed", "texts changed")
	r.answers("/stop", "Nothing at all.")

	r.reload(sections{models: fmt.Sprintf("[{name: fresh, base_url: %q, api_key: %q, model: standin, temperature: 0.25}]", r.modelURL+"/v1", testKey)},
		"models.main removed", "models.fresh added", "texts changed")
	r.answers("say: four", "four")
	wantText(t, "the request", r.asked(), `"temperature":0.25`)

	r.reload(sections{streaming: "{telegram: false}"}, "models.fresh removed", "models.main added", "streaming.telegram.enabled changed")
	r.answers("words: 150", openai.Answer("words: 150"))
	list := r.replies(ada)
	if n := len(list[len(list)-1].Versions); n != 1 {
		t.Errorf("an answer that does not stream has %d versions", n)
	}

	r.reload(sections{more: "conversations: {busy: queue, max_queued: 5}\nlog: {level: debug}\nshutdown_grace: 5s"},
		"streaming.telegram.enabled changed", "conversations.busy changed", "conversations.max_queued changed", "shutdown_grace changed", "log.level changed")
	r.answers("say: five", "five")

	r.reload(sections{access: `{allow: ["telegram:user:2002"]}`, more: "log: {level: debug}"}, "conversations.busy changed", "conversations.max_queued changed",
		"access.default changed", "access.allow changed", "shutdown_grace changed")
	n := len(r.replies(ada))
	r.ask("say: six")
	r.daemon.awaitLog("message refused", 1)
	if got := r.texts(ada); len(got) != n {
		t.Errorf("a stranger was answered: %q", got[n:])
	}
	r.daemon.stop()
	if !strings.Contains(r.daemon.stderr.String(), `"level":"DEBUG"`) {
		t.Error("the log has no lines of the level debug")
	}
}

// If the file is invalid, or if a change needs a restart, telex reload must change nothing.
func TestReloadRefused(t *testing.T) {
	t.Parallel()
	taken := listen(t)
	defer func() { _ = taken.Close() }()
	m := newManager(t)
	r := newReloadable(t, sections{}, "NOTIFY_SOCKET="+m.path)
	m.awaitReady()
	for _, c := range []struct {
		name string
		s    sections
		want []string
	}{
		{"an unknown key", sections{more: "agent: {system_promt: x}"}, []string{r.file + ":6:9: unknown key", "system_prompt"}},
		{"not YAML", sections{more: "agent: ["}, []string{r.file + ":"}},
		{"another log", sections{more: "log: {format: text}"}, []string{r.file + ":6:7: log.format can't change while the daemon runs", "restart the daemon"}},
		{"an admin address", sections{admin: `{listen: "127.0.0.1:8999"}`}, []string{"admin.listen can't change while the daemon runs"}},
		{"another kind", sections{platforms: `{telegram: {kind: discord, token: "a.b.c", api_base: "http://127.0.0.1:1"}}`}, []string{"platforms.telegram.kind can't change"}},
		{"no platform", sections{platforms: "{}", streaming: "{}"}, []string{"no platform to run on"}},
		{
			"an address that is taken",
			sections{platforms: fmt.Sprintf(`{$telegram, api: {kind: api_server, listen: %q}}`, taken.Addr())},
			[]string{"api", "address already in use"},
		},
		{
			"a webhook's address that is taken",
			sections{platforms: fmt.Sprintf(`{$telegram, other: {kind: telegram, token: "7:b", api_base: %q, webhook: {listen: %q, url: "http://127.0.0.1:1/", secret: abc}}}`, r.telegramURL, taken.Addr())},
			[]string{"platforms.other.webhook.listen", "address already in use"},
		},
	} {
		r.write(c.s)
		stdout, stderr := r.command(t, exitFailed, "reload")
		if stdout != "" {
			t.Errorf("%s: stdout %q", c.name, stdout)
		}
		wantText(t, c.name, stderr, append(c.want, "the old one stays in force")...)
		if got := m.hear(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
			t.Errorf("%s: told %q, want RELOADING=1 with a time", c.name, got)
		}
		if got := m.hear(); !strings.HasPrefix(got, "READY=1\nSTATUS=Reload failed, the old configuration stays in force: ") {
			t.Errorf("%s: told %q, want READY=1 and why it failed", c.name, got)
		}
	}
	r.daemon.awaitLog("configuration was not reloaded", 8)
	r.answers("say: one", "one")
	r.write(sections{})
	r.daemon.signal(syscall.SIGHUP)
	if got, _, _ := strings.Cut(m.hear(), "="); got != "RELOADING" {
		t.Errorf("told %q, want RELOADING", got)
	}
	if got := m.hear(); got != "READY=1\nSTATUS=" {
		t.Errorf("told %q, want READY=1 without a status", got)
	}
	r.daemon.stop()
}

// A reload happens in the middle of an answer. The answer must continue after the reload, and at the end it must be
// shown once and without a cursor.
func TestReloadInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	const question = "{{standin rate=120}} words: 150"
	r := newReloadable(t, sections{})
	r.ask(question)
	r.awaitGrowth(1)
	r.reload(sections{more: `agent: {system_prompt: "x"}`, streaming: `{telegram: {cursor: "_"}}`},
		"agent.system_prompt changed", "streaming.telegram.enabled changed", "streaming.telegram.cursor changed")
	for range 5 {
		r.daemon.signal(syscall.SIGHUP)
	}
	r.daemon.awaitLog("turn ended", 1)
	r.wantTexts(ada, openai.Answer("words: 150"))
	checkSteps(t, r.replies(ada)[0], 4)
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	r.daemon.stop()
}

// In the test, a bot's token was revoked, and a reload replaces the token while an answer is being written. After the
// reload, the answer must continue in the same message.
func TestReloadToken(t *testing.T) {
	t.Parallel()
	const renewed = "123456789:BBwhole-process-renewed-token-0000"
	r := newReloadable(t, sections{})
	r.ask("{{standin rate=120}} words: 150")
	r.awaitGrowth(1)
	r.telegram.SetToken(renewed)
	r.daemon.awaitLog("receiving is interrupted", 1)
	r.reload(sections{platforms: "{" + r.account("telegram", renewed) + "}"}, "platforms.telegram.token changed")
	r.daemon.awaitLog("turn ended", 1)
	r.wantTexts(ada, openai.Answer("words: 150"))
	r.answers("say: two", "two")
	if strings.Contains(r.daemon.stderr.String(), renewed) {
		t.Error("the log has the token")
	}
	r.daemon.stop()
}

// After a reload, an added endpoint must receive messages. A removed endpoint must answer the messages that it has
// accepted, and receive no others.
func TestReloadEndpoints(t *testing.T) {
	t.Parallel()
	const second = "987654321:CCwhole-process-second-token-0000"
	other := telegram.New(telegram.Options{Token: second, Latency: 10 * time.Millisecond})
	otherURL := serve(t, other, listen(t))
	every := "{enabled: true}"
	// The endpoint telegram gets no streaming setting of its own, because the test removes the endpoint later.
	r := newReloadable(t, sections{streaming: every}, streamingVariable+"=true")
	both := sections{streaming: every, platforms: fmt.Sprintf("{$telegram, other: {kind: telegram, token: %q, api_base: %q}}", second, otherURL)}
	r.reload(both, "platforms.other added")
	other.Say(telegram.Incoming{User: ada, FirstName: "Ada", Text: "say: from the other"})
	at := &world{t: t, telegram: other}
	at.await("an answer at the other bot", func() bool { return strings.Join(at.texts(ada), "") == "from the other" })

	r.ask("{{standin rate=120}} words: 150")
	r.awaitGrowth(1)
	r.reload(sections{streaming: every, platforms: fmt.Sprintf("{other: {kind: telegram, token: %q, api_base: %q}}", second, otherURL)}, "platforms.telegram removed")
	r.daemon.awaitLog("turn ended", 2)
	r.wantTexts(ada, openai.Answer("words: 150"))
	r.ask("say: are you there")
	out, _ := r.command(t, exitDone, "status")
	if strings.Contains(out, "\ntelegram ") {
		t.Errorf("the removed endpoint is shown:\n%s", out)
	}
	if n := r.telegram.Stats().Pending; n != 1 {
		t.Errorf("%d updates wait for the removed endpoint, want 1", n)
	}
	r.reload(both, "platforms.telegram added")
	r.await("the answer to what waited", func() bool { list := r.texts(ada); return len(list) == 2 && list[1] == "are you there" })
	r.daemon.stop()
}

// A reload must change the keys of the API server at once, while a stream continues. A change of the API server's
// address must not break a running stream.
func TestReloadAPIServer(t *testing.T) {
	t.Parallel()
	const laterKey = "telex-api-reloaded-key-9876543210"
	first, second, admin := freeAddress(t), freeAddress(t), freeAddress(t)
	api := func(address, key string) sections {
		return sections{
			platforms: fmt.Sprintf("{$telegram, api: {kind: api_server, listen: %q, keys: [{name: laptop, key: %s}]}}", address, key),
			admin:     fmt.Sprintf("{listen: %q, token: first-admin-token-123}", admin),
		}
	}
	r := newReloadable(t, api(first, apiKey))
	stream := r.post(first, apiKey, `{"model": "main", "stream": true, "messages": [{"role": "user", "content": "{{standin rate=120}} words: 150"}]}`)
	defer func() { _ = stream.Body.Close() }()

	r.reload(api(first, laterKey), "platforms.api.keys changed")
	if got := r.postStatus(first, apiKey); got != http.StatusUnauthorized {
		t.Errorf("the old key: got %d", got)
	}
	if got := r.postStatus(first, laterKey); got != http.StatusOK {
		t.Errorf("the new key: got %d", got)
	}
	r.reload(api(second, laterKey), "platforms.api.listen changed")
	if got := r.postStatus(second, laterKey); got != http.StatusOK {
		t.Errorf("at the new address: got %d", got)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(stream.Body); err != nil || !strings.HasSuffix(strings.TrimSpace(text.String()), "data: [DONE]") {
		t.Errorf("the stream was cut: %v, %q", err, text.String()[max(0, text.Len()-300):])
	}

	moved := api(second, laterKey)
	moved.admin = fmt.Sprintf("{listen: %q, token: second-admin-token-123}", admin)
	r.reload(moved, "admin.token changed")
	if got, _ := fetch(t, "http://"+admin+"/metrics", "first-admin-token-123"); got != http.StatusUnauthorized {
		t.Errorf("the old admin token: got %d", got)
	}
	moved.admin = fmt.Sprintf("{listen: %q, token: second-admin-token-123}", first)
	r.reload(moved, "admin.listen changed")
	if got, _ := fetch(t, "http://"+first+"/metrics", "second-admin-token-123"); got != http.StatusOK {
		t.Errorf("at the new admin address: got %d", got)
	}
	r.daemon.stop()
}

func (r *reloadable) post(address, key, body string) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+key)
	q.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *reloadable) postStatus(address, key string) int {
	r.t.Helper()
	resp := r.post(address, key, `{"model": "main", "messages": [{"role": "user", "content": "say: x"}]}`)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// If a tool server stays in the configuration, its process must survive a reload. If a reload removes a tool server,
// the server must end after the turn that uses it.
func TestReloadToolServers(t *testing.T) {
	t.Parallel()
	desk, shed := newWorkbench(t), newWorkbench(t)
	entry := func(name string, b *workbench) string { return "{name: " + name + ", url: " + b.url + ", trust: true}" }
	starts := filepath.Join(t.TempDir(), "starts")
	sleeper := `{name: sleeper, command: sh, args: [-c, "echo $$ >>` + starts + `; exec sleep 600"]}`
	with := func(list ...string) sections {
		return sections{more: "mcp_servers: [" + strings.Join(list, ", ") + "]"}
	}
	r := newReloadable(t, with(entry("desk", desk), sleeper))
	r.daemon.awaitLog("MCP server listed its tools", 1)
	pid := r.onlyPID(starts)

	r.reload(with(entry("desk", desk), sleeper, entry("shed", shed)), "mcp_servers.shed added")
	r.daemon.awaitLog("MCP server listed its tools", 2)
	shed.letGo("prices", "nuts")
	r.answers("call: shed_prices {\"for\": \"nuts\"}", "The tools answered:\n\n• shed_prices: prices for nuts: done")

	r.ask("call: desk_stock {\"for\": \"bolts\"}")
	<-desk.gate("stock", "bolts").begun
	r.reload(with(sleeper, entry("shed", shed)), "mcp_servers.desk removed")
	r.reload(sections{more: with(sleeper, entry("shed", shed)).more + "\nagent: {system_prompt: x}"}, "agent.system_prompt changed")
	desk.letGo("stock", "bolts")
	r.await("the answer with the removed server's result", func() bool {
		list := r.texts(ada)
		return len(list) == 2 && strings.HasSuffix(list[1], "stock for bolts: done")
	})
	r.ask("say: next")
	r.daemon.awaitLog("turn ended", 3)
	if strings.Contains(r.asked(), "desk_stock\",") && strings.Contains(r.asked(), `"name":"desk_stock","description"`) {
		t.Errorf("the removed tool is offered: %s", r.asked())
	}
	if hasEnded(pid) {
		t.Error("the process of the server that stayed has ended")
	}
	r.reload(sections{more: "mcp_servers: [" + entry("shed", shed) + "]"}, "agent.system_prompt changed", "mcp_servers.sleeper removed")
	poll(t, "the end of the removed server's process", func() bool { return hasEnded(pid) })
	r.onlyPID(starts)
	r.daemon.stop()
}

// onlyPID returns the process id that the server wrote to a file. The server must have been started exactly once.
func (r *reloadable) onlyPID(file string) int {
	r.t.Helper()
	var lines []string
	poll(r.t, "the start of the server", func() bool {
		text, _ := os.ReadFile(file) // the file may not exist yet
		lines = strings.Fields(string(text))
		return len(lines) > 0
	})
	if len(lines) != 1 {
		r.t.Fatalf("the server was started %d times", len(lines))
	}
	pid, err := strconv.Atoi(lines[0])
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

// Under systemd, the daemon reads copies of the configuration and its secrets. telex reload, run by root, passes new
// versions to the daemon. A later SIGHUP makes the daemon read the copies again, but must not bring back the old
// content of the copies.
func TestReloadOfAService(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("passing a configuration needs root, so it is refused")
	}
	const renewed = "123456789:DDwhole-process-service-token-0000"
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	etc, copies := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	text := func(cursor string) string {
		return fmt.Sprintf("models: [{name: main, base_url: %q, api_key: %q, model: standin}]\nstreaming: {enabled: true, cursor: %q}\n"+
			"access: {default: allow}\nplatforms: {telegram: {token_file: telegram-token, api_base: %q}}\nadmin: {listen: \"\"}\n", w.modelURL+"/v1", testKey, cursor, w.telegramURL)
	}
	original := filepath.Join(etc, "config.yaml")
	write(original, text("|"))
	write(filepath.Join(copies, "config.yaml"), text("|"))
	write(filepath.Join(copies, "secrets_telegram-token"), testToken)
	r := &reloadable{world: w, state: s, file: original}
	r.daemon = launch{env: []string{s.env, "CREDENTIALS_DIRECTORY=" + copies, streamingVariable + "=true"}}.start(t, "run", "--config", filepath.Join(copies, "config.yaml"))
	r.daemon.awaitLog("receiving", 1)

	write(original, text("_"))
	write(filepath.Join(etc, "secrets", "telegram-token"), renewed+"\n")
	_, stderr := r.command(t, exitDone, "reload")
	wantText(t, "stderr", stderr, "is a copy that systemd made", "systemctl reload telex", "nothing has changed")

	if os.Getuid() != 0 {
		_, stderr := r.command(t, exitFailed, "reload", "--config", original)
		wantText(t, "stderr", stderr, "only root may pass a configuration")
		return
	}
	r.ask("{{standin rate=120}} words: 150")
	r.awaitGrowth(1)
	r.telegram.SetToken(renewed)
	stdout, _ := r.command(t, exitDone, "reload", "--config", original)
	if want := "streaming.cursor changed\nplatforms.telegram.token changed\n"; stdout != want {
		t.Errorf("it prints %q, want %q", stdout, want)
	}
	r.daemon.signal(syscall.SIGHUP)
	r.daemon.awaitLog("configuration was reloaded: nothing has changed", 2)
	r.daemon.awaitLog("turn ended", 1)
	r.wantTexts(ada, openai.Answer("words: 150"))
	r.answers("say: two", "two")

	write(original, text("_")+"agent: {system_promt: x}\n")
	_, stderr = r.command(t, exitFailed, "reload", "--config", original)
	wantText(t, "stderr", stderr, original+":6:9: unknown key", "the old one stays in force")
	out, _ := r.command(t, exitDone, "status")
	wantText(t, "the status", out, original)
	r.daemon.stop()
}

// If a daemon gets SIGHUP because its terminal was closed, it must stop gracefully.
func TestHangup(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t, telegram.Options{}, openai.Options{}), newState(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "run", "--config", w.config(sections{}))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), playsProgram + "=1", s.env}
	terminal := closable(t, cmd)
	shown := newOutput()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(shown, terminal) // Copy returns when the terminal is closed
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	awaitShown := func(text string) {
		t.Helper()
		if !shown.await(ctx, func(all string) bool { return strings.Contains(all, text) }) {
			t.Fatalf("the terminal lacks %q:\n%s", text, shown)
		}
	}
	awaitShown("receiving")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	awaitShown("configuration was reloaded")
	w.ask("{{standin rate=30}} words: 300")
	w.awaitGrowth(1)
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	<-read
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	if got := w.texts(ada); len(got) != 1 || strings.Contains(got[0], cursor) {
		t.Errorf("it left %q", got)
	}
}

// closable starts a command on a terminal. Closing the returned file also works while another goroutine reads from it.
func closable(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	blocking, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	// Without this lock, a process that another test starts at this moment could inherit the terminal and keep it open.
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(blocking.Fd()))
	syscall.CloseOnExec(fd)
	syscall.ForkLock.RUnlock()
	if err := errors.Join(err, blocking.Close(), syscall.SetNonblock(fd, true)); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "terminal")
}
