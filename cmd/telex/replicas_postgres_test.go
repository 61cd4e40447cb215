//go:build postgres

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"telex/internal/store/pgtest"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// replica is one of several daemons that share a database.
type replica struct {
	*process
	state
	config  string
	admin   string   // the section admin of its configuration
	program string   // path of its program; empty: the test binary
	more    []string // additional environment variables
	way     *way
}

// way is a proxy between a replica and the platform. way records the calls whose effects people may see.
type way struct {
	mu    sync.Mutex
	calls []shownCall
}

// shownCall is a call whose effect people may see.
type shownCall struct {
	at     time.Time
	method string
}

// newWay returns a proxy to the platform and its address.
func newWay(t *testing.T, platform string) (*way, string) {
	t.Helper()
	to, err := url.Parse(platform)
	if err != nil {
		t.Fatal(err)
	}
	w, pass := &way{}, httputil.NewSingleHostReverseProxy(to)
	// The connection breaks when the test kills the replica that made the call.
	pass.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if strings.HasPrefix(method, "send") || strings.HasPrefix(method, "edit") || strings.HasPrefix(method, "delete") {
			w.mu.Lock()
			w.calls = append(w.calls, shownCall{time.Now(), method})
			w.mu.Unlock()
		}
		pass.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return w, server.URL
}

// since returns the calls that were made after the given time.
func (w *way) since(at time.Time) (list []shownCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if c.at.After(at) {
			list = append(list, c)
		}
	}
	return list
}

// replicas starts daemons that share a database, one after the other. The first daemon receives the messages.
func (w *world) replicas(n int, dsn string, o sections, env ...string) []*replica {
	return w.replicasOf("", n, dsn, o, env...)
}

// replicasOf is like replicas, for another build of the program.
func (w *world) replicasOf(program string, n int, dsn string, o sections, env ...string) (list []*replica) {
	w.t.Helper()
	for range n {
		r := &replica{state: newState(w.t), admin: fmt.Sprintf("{listen: %q}", freeAddress(w.t)), program: program, more: env}
		var address string
		r.way, address = newWay(w.t, w.telegramURL)
		mine := o
		mine.admin, mine.more = r.admin, database(w.t, dsn).more+"\n"+o.more
		mine.platforms = fmt.Sprintf("{telegram: {token: %q, api_base: %q}}", testToken, address)
		r.config = w.config(mine)
		r.run(w.t)
		list = append(list, r)
	}
	return list
}

// run starts the daemon and waits until it is ready.
func (r *replica) run(t *testing.T) {
	t.Helper()
	r.process = launch{env: slices.Concat(r.more, []string{r.env}), program: r.program}.start(t, "run", "--config", r.config)
	r.awaitLog("joined the other replicas", 1)
	poll(t, "ready", func() bool {
		status, is := probe(t, r.admin, "/readyz")
		return status == http.StatusOK && is.Status == "ready"
	})
}

// tell runs telex with args, as an operator on the machine of replica r would.
func (r *replica) tell(t *testing.T, code int, args ...string) (stdout string) {
	t.Helper()
	stdout, _ = r.command(t, code, append(args, "--config", r.config)...)
	return stdout
}

// shared is the output of `telex replicas --json`.
type shared struct {
	Self       int
	Error      string
	LeasesLost int `json:"leases_lost"`
	Replicas   []struct {
		ID, Chats           int
		Name, Version       string
		Lag                 float64 `json:"lag_seconds"`
		Leaving             bool
		Endpoints, Receives []string
	}
}

// sees returns the list of replicas that the daemon r reports.
func (r *replica) sees(t *testing.T) (s shared) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.tell(t, exitDone, "replicas", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// metricsOf returns the metrics of a replica.
func metricsOf(t *testing.T, r *replica) string {
	t.Helper()
	_, address, _ := strings.Cut(strings.Trim(r.admin, "{}"), "listen: ")
	_, text := fetch(t, "http://"+strings.Trim(address, `"`)+"/metrics", "")
	return text
}

// says writes to the bot as a person.
func (w *world) says(user int64, text string) {
	w.telegram.Say(telegram.Incoming{User: user, FirstName: "Ada", Text: text})
}

// asksAll asks one question in each of several chats, and waits until all answers grow. chats is the number of chats,
// and round is the number of earlier calls of asksAll.
func (w *world) asksAll(chats, round int) {
	w.t.Helper()
	for i := range chats {
		w.says(int64(ada+i), question(20+i, round))
	}
	w.await("answers that grow", func() bool {
		for i := range chats {
			if len(w.texts(int64(ada+i))) <= round {
				return false
			}
		}
		return true
	})
}

// answered reports whether each answer to the questions of asksAll is complete and shown once.
func (w *world) answered(chats, round int) bool {
	for i := range chats {
		texts := w.texts(int64(ada + i))
		if len(texts) != round+1 || texts[round] != openai.Answer(question(20+i, round)) {
			return false
		}
	}
	return true
}

// owner returns the replica that writes the answer in a chat, and another replica.
func owner(t *testing.T, list []*replica, chat int64) (owner, other *replica) {
	t.Helper()
	for i, r := range list {
		var status struct {
			Conversations []struct{ Conversation, Turn string }
		}
		if err := json.Unmarshal([]byte(r.tell(t, exitDone, "status", "--json")), &status); err != nil {
			t.Fatal(err)
		}
		for _, c := range status.Conversations {
			if c.Turn != "" && c.Conversation == fmt.Sprintf("telegram:%d", chat) {
				return r, list[(i+1)%len(list)]
			}
		}
	}
	t.Fatalf("nobody answers in chat %d", chat)
	return nil, nil
}

// gap returns the longest time between two consecutive versions of message m, counting only versions that were shown
// after the given time. The time between the given time and the first counted version counts, too.
func gap(m telegram.Message, after time.Time) (longest time.Duration) {
	for _, v := range m.Versions {
		if v.At.After(after) {
			longest, after = max(longest, v.At.Sub(after)), v.At
		}
	}
	return longest
}

// Several daemons share the chats. An operator's command must have the same result at each daemon.
func TestPostgreSQLReplicas(t *testing.T) {
	t.Parallel()
	const chats = 8
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	list := w.replicas(2, dsn, sections{})
	w.asksAll(chats, 0)
	a, b := list[0], list[1]
	var owned [2]int
	poll(t, "chats at both", func() bool { // each daemon counts its chats only once per second, so one daemon may have a few more
		s := b.sees(t)
		if len(s.Replicas) != 2 {
			return false
		}
		owned = [2]int{s.Replicas[0].Chats, s.Replicas[1].Chats}
		return owned[0]+owned[1] == chats && min(owned[0], owned[1]) >= chats/4
	})
	for i, r := range list {
		s := r.sees(t)
		if s.Self != s.Replicas[i].ID || s.Error != "" || s.Replicas[0].Lag > 3 || s.Replicas[1].Leaving {
			t.Errorf("replica %d: got %+v", i, s)
		}
		if !strings.HasSuffix(s.Replicas[i].Name, fmt.Sprintf(" pid %d", r.cmd.Process.Pid)) {
			t.Errorf("replica %d: got the name %q", i, s.Replicas[i].Name)
		}
		if got := fmt.Sprint(s.Replicas[0].Receives, s.Replicas[1].Receives, s.Replicas[1].Endpoints); got != "[telegram] [] [telegram]" {
			t.Errorf("replica %d: got %s", i, got)
		}
		wantText(t, "status", r.tell(t, exitDone, "status"), ": ready\n", fmt.Sprintf("replica %d; known replicas with a lease: 2", s.Self))
		wantText(t, "replicas", r.tell(t, exitDone, "replicas"), "REPLICA  NAME", "this daemon\n")
		wantText(t, "doctor", r.tell(t, exitDone, "doctor"), "ok       store: database test1 at 127.0.0.1:", "ok       replicas: daemons that share the database: ")
		wantText(t, "metrics", metricsOf(t, r), "\ntelex_replica_peers 2\n", "\ntelex_replica_lease_held 1\n", fmt.Sprintf("\ntelex_replica_chats_owned %d\n", owned[i]),
			fmt.Sprintf("\ntelex_replica_receives{endpoint=\"telegram\"} %d\n", 1-i), fmt.Sprintf("\ntelex_replica_forwarded_messages_total %d\n", i*owned[1]))
	}
	wantText(t, "status of the other", b.tell(t, exitDone, "status"), "standby")
	elsewhere, config := newState(t), w.config(database(t, dsn))
	wantOwners(t, elsewhere, config, a.sees(t), owned)

	// Each daemon has an endpoint of its own for terminals, and keeps the conversations at these terminals.
	for i, r := range list {
		question := fmt.Sprintf("say: this is terminal %d", i)
		wantText(t, "chat", r.tell(t, exitDone, "chat", question), fmt.Sprintf("this is terminal %d", i))
		wantText(t, "sessions", r.tell(t, exitDone, "sessions", "list"), "cli@")
	}
	stdout, _ := elsewhere.command(t, exitDone, "chat", "say: without a daemon here", "--config", config)
	wantText(t, "chat without a daemon on the machine", stdout, "without a daemon here")
	if n := strings.Count(a.tell(t, exitDone, "sessions", "list"), ":main"); n != 3 {
		t.Errorf("%d sessions of terminals, want 3", n)
	}
	w.await("all answers", func() bool { return w.answered(chats, 0) })
	// Two daemons can't share one state directory, because they would share the control socket.
	twin := launch{env: []string{a.env}}.start(t, "run", "--config", a.config)
	if code := twin.exit(patience); code != exitFailed {
		t.Errorf("a twin: exit %d, want %d", code, exitFailed)
	}
	wantText(t, "stderr of the twin", twin.stderr.String(), "the state directory "+a.dir+" is in use by another process", "or give this one a state directory of its own")
	if strings.Contains(twin.stderr.String(), "telex.db") {
		t.Error("the twin names a file that is not there")
	}
	a.stop()
	b.stop()
}

// wantOwners checks which replica owns which chat, as telex reports it on a machine without a daemon. Each chat must
// have exactly one owner, and counts contains the number of chats that each replica must own.
func wantOwners(t *testing.T, s state, config string, of shared, counts [2]int) {
	t.Helper()
	var list []struct {
		Replica    int
		Name, Chat string
	}
	stdout, _ := s.command(t, exitDone, "replicas", "--chats", "--json", "--config", config)
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatal(err)
	}
	text, _ := s.command(t, exitDone, "replicas", "--chats", "--config", config)
	var got [2]int
	owners := make(map[string]int)
	for _, one := range list {
		owners[one.Chat]++
		for i, r := range of.Replicas {
			if one.Replica == r.ID && one.Name == r.Name {
				got[i]++
			}
		}
		wantText(t, "chats", text, fmt.Sprintf("%-7d  %s  %s\n", one.Replica, one.Name, one.Chat))
	}
	if got != counts || len(owners) != len(list) {
		t.Errorf("got %+v, want %v chats of %+v, each once", list, counts, of.Replicas)
	}
}

// An operator gives a command about a chat to a daemon that does not own the chat, or on a machine without a daemon.
// The daemon that owns the chat must execute the command.
func TestPostgreSQLReplicasCarryOutOrders(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{})
	list := w.replicas(2, dsn, sections{})
	nowhere, config := newState(t), w.config(database(t, dsn))
	for n, order := range []func(other *replica) (stdout string){
		func(other *replica) string {
			return other.tell(t, exitDone, "sessions", "delete", "telegram:1001")
		},
		func(*replica) string {
			stdout, _ := nowhere.command(t, exitDone, "sessions", "delete", "telegram:1001", "--config", config)
			return stdout
		},
		func(other *replica) string {
			return other.tell(t, exitDone, "sessions", "delete", "--person", "telegram:user:1001")
		},
		func(*replica) string {
			stdout, _ := nowhere.command(t, exitDone, "sessions", "delete", "--person", "telegram:user:1001", "--config", config)
			return stdout
		},
	} {
		w.ask("/model main")
		w.ask("say: before")
		w.await("a choice and an answer", func() bool { return complete(w.texts(ada), 3*n+2) && w.texts(ada)[3*n+1] == "before" })
		w.ask("words: 5000")
		w.await("an answer that grows", func() bool { return len(w.texts(ada)) == 3*n+3 })
		_, other := owner(t, list, ada)
		wantText(t, "order", order(other), "deleted.\n")
		w.await("the end of the answer", func() bool { return complete(w.texts(ada), 3*n+3) })
		poll(t, "an empty history", func() bool {
			return !strings.Contains(list[0].tell(t, exitDone, "sessions", "list"), "telegram:1001")
		})
	}
	for _, r := range list {
		r.stop()
	}
}

// A client of the API may use any daemon, because all daemons share the sessions and responses.
func TestPostgreSQLReplicasServeTheAPI(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{})
	one, a := w.apiServer("", database(t, dsn).more)
	two, b := w.apiServer("", database(t, dsn).more)
	for at, ask := range map[string]string{one: "say: My cat is called Mia", two: "say: My dog is called Ben"} {
		if _, err := apiClient(at).CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{Model: "main", User: "ada", Messages: userSays(ask)}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := apiClient(two).CreateChatCompletion(t.Context(), goopenai.ChatCompletionRequest{Model: "main", User: "ada", Messages: userSays("recall: 2")})
	if err != nil || !strings.Contains(r.Choices[0].Message.Content, " is called ") {
		t.Errorf("the session at the other daemon: got %+v, %v", r, err)
	}
	respond := func(at, input, previous string) (id, text string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"model": "main", "input": input, "previous_response_id": previous})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/v1/responses", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+apiKey)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			ID     string
			Output []struct{ Content []struct{ Text string } }
		}
		if err := errors.Join(json.NewDecoder(resp.Body).Decode(&out), resp.Body.Close()); err != nil || len(out.Output) != 1 {
			t.Fatalf("status %s: %+v, %v", resp.Status, out, err)
		}
		return out.ID, out.Output[0].Content[0].Text
	}
	id, _ := respond(one, "say: My bird is called Eva", "")
	if _, text := respond(two, "recall: 1", id); !strings.Contains(text, "Eva") {
		t.Errorf("the response at the other daemon: got %q", text)
	}
	a.stop()
	b.stop()
}

// If access is granted or revoked at one daemon, the change must take effect at all daemons.
func TestPostgreSQLReplicasShareAccess(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{})
	list := w.replicas(2, dsn, sections{access: pairing})
	code := w.knock(1)
	wantText(t, "list", list[0].tell(t, exitDone, "pair", "list"), code)
	list[1].tell(t, exitDone, "pair", "approve", code)
	knows := func() bool { return strings.Contains(list[0].tell(t, exitDone, "pair", "list"), "LET IN") }
	poll(t, "word of the admission", knows)
	w.ask("say: thanks")
	w.await("an answer", func() bool { return len(w.texts(ada)) == 2 && w.texts(ada)[1] == "thanks" })
	list[1].tell(t, exitDone, "pair", "revoke", fmt.Sprintf("telegram:user:%d", ada))
	poll(t, "word of the revocation", func() bool { return !knows() })

	// All daemons together may have at most three open pairing requests, no matter which of them receive and answer the
	// strangers' messages.
	const strangers = 8
	coded := func() (n int) {
		for i := range int64(strangers) {
			n += len(w.texts(ada + 1 + i))
		}
		return n
	}
	for i := range int64(strangers) - 1 {
		w.says(ada+1+i, "let me in")
	}
	refused := func() (n int) {
		for _, r := range list {
			n += len(containing(r.log(), "message refused"))
		}
		return n
	}
	poll(t, "refusals", func() bool { return refused() >= strangers-1-3 })
	w.await("codes", func() bool { return coded() == 3 })
	for i, r := range list {
		poll(t, fmt.Sprintf("the codes at replica %d", i), func() bool { // a code that another replica created arrives with a delay
			return len(pairCode.FindAllString(r.tell(t, exitDone, "pair", "list"), -1)) == 3
		})
	}
	list[0].stop()
	list[1].awaitLog("this replica receives from now on", 1)
	before := refused()
	w.says(ada+strangers, "let me in")
	poll(t, "a refusal by the other daemon", func() bool { return refused() > before })
	if n := coded(); n != 3 {
		t.Errorf("%d strangers got an answer, want 3", n)
	}
	list[1].stop()
}

// A stopping process must hand over its chats to the other process at once, and the other process must continue the
// growing replies.
func TestPostgreSQLReplicaStops(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	list := w.replicas(2, dsn, sections{more: "shutdown_grace: 6s"})
	w.says(ada, "words: 120") // the answer takes longer than a stopping process waits for its turns
	w.awaitGrowth(1)
	owns, other := owner(t, list, ada)
	if receiver := list[0]; owns != receiver { // the test needs a replica that receives messages and also owns a chat
		w.says(ada+1, "words: 120")
		w.await("another answer", func() bool { return len(w.texts(ada+1)) > 0 })
		owns, other = receiver, owns
	}
	stopped := time.Now()
	owns.signal(syscall.SIGTERM)
	if owns == list[0] {
		other.awaitLog("this replica receives from now on", 1)
		if took := time.Since(stopped); took > time.Second {
			t.Errorf("the other daemon receives after %v", took)
		}
	}
	w.says(ada+2, "say: anybody there?")
	asked := time.Now()
	w.await("an answer of the other one", func() bool { return complete(w.texts(ada+2), 1) })
	if took := time.Since(asked); took > 2*time.Second {
		t.Errorf("a question in the meantime was answered after %v", took)
	}
	if code := owns.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	grows := []int64{ada}
	if len(w.texts(ada+1)) > 0 {
		grows = append(grows, ada+1)
	}
	w.await("the answers", func() bool { // wait for the whole answer, because an interrupted text has no cursor either
		for _, chat := range grows {
			if w.texts(chat)[0] != openai.Answer("words: 120") {
				return false
			}
		}
		return true
	})
	for _, chat := range grows {
		w.wantTexts(chat, openai.Answer("words: 120"))
		if stood := gap(w.replies(chat)[0], stopped); stood > 2500*time.Millisecond {
			t.Errorf("the answer in chat %d stood still for %v", chat, stood)
		}
	}
	other.stop()
}

// recovery is how long a reply may stand still after its replica has died. The recovery time consists of the lease of 5
// s, and of the time that another replica needs to take over the chat.
const recovery = 8 * time.Second

// One of two processes is killed. The surviving process must continue the answers of the killed one within 8 seconds,
// in the same messages.
func replicaKilled(t *testing.T) {
	const chats = 6
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	list := w.replicas(2, dsn, sections{})
	w.asksAll(chats, 0)
	killed := time.Now()
	list[0].signal(syscall.SIGKILL) // this replica receives messages and owns half of the chats
	<-list[0].ended
	w.says(ada+chats, "say: anybody there?")
	w.await("an answer of the other one", func() bool { return complete(w.texts(ada+chats), 1) })
	if took := time.Since(killed); took > recovery {
		t.Errorf("a question in the meantime was answered after %v", took)
	}
	w.await("all answers", func() bool { return w.answered(chats, 0) })
	for i := range chats {
		if stood := gap(w.replies(int64(ada + i))[0], killed); stood > recovery {
			t.Errorf("the answer in chat %d stood still for %v", ada+i, stood)
		}
	}
	list[0].run(t) // the killed replica starts again beside the other one, with a new id
	poll(t, "both replicas", func() bool {
		s := list[0].sees(t)
		return len(s.Replicas) == 2 && s.Self == s.Replicas[1].ID
	})
	list[0].stop()
	list[1].stop()
}

// The database is unreachable for longer than a lease. While the database is unreachable, no answer grows, and each
// daemon is alive but not ready. When the database is reachable again, the answers must continue, and no daemon may
// need a restart.
func TestPostgreSQLReplicasWithoutDatabase(t *testing.T) {
	t.Parallel()
	const chats = 4
	server := pgtest.Start(t, true)
	_, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	pings, env := watchdog(t)
	list := w.replicas(2, dsn, sections{}, env...)
	w.asksAll(chats, 0)
	server.Kill(t)
	for _, r := range list {
		r.awaitLog("the lease on the store is lost", 1)
	}
	before := pings.Load()
	poll(t, "pings of both watchdogs", func() bool { return pings.Load() >= before+10 })
	for _, r := range list {
		if status, is := probe(t, r.admin, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(is.Store, "the database can't be reached") {
			t.Errorf("readyz: got %d, %+v", status, is)
		}
		if status, _ := probe(t, r.admin, "/healthz"); status != http.StatusOK {
			t.Errorf("healthz: got %d, want it alive", status)
		}
		wantText(t, "status", r.tell(t, exitFailed, "status"), ": failing\nprocess ", "\nstore: ", "known replicas with a lease: 0")
		wantText(t, "replicas", r.tell(t, exitFailed, "replicas"), "trouble: ", "the database can't be reached")
		wantText(t, "metrics", metricsOf(t, r), "\ntelex_replica_lease_held 0\n", "\ntelex_replica_peers 0\n")
	}
	w.says(ada+chats, "say: written meanwhile")
	server.Restart(t)
	w.await("all answers", func() bool {
		return w.answered(chats, 0) && complete(w.texts(ada+chats), 1)
	})
	for _, r := range list {
		poll(t, "ready", func() bool {
			status, _ := probe(t, r.admin, "/readyz")
			return status == http.StatusOK
		})
	}
	for _, r := range list {
		r.stop()
	}
}

// A process is paused for much longer than its lease. The other process must continue the reply of the paused process
// as fast as after a kill. When the paused process continues, it must send and store nothing, and then register again.
// During the pause, the test also kills a process that uses another database.
func TestPostgreSQLReplicaPausedOrKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, true)
	name, dsn := server.Create(t, "")
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
	list := w.replicas(2, dsn, sections{})
	w.says(ada, "words: 160")
	w.awaitGrowth(1)
	paused, other := owner(t, list, ada)
	began := time.Now()
	paused.signal(syscall.SIGSTOP)
	w.await("the answer", func() bool {
		texts := w.texts(ada)
		return len(texts) == 1 && texts[0] == openai.Answer("words: 160")
	})
	if stood := gap(w.replies(ada)[0], began); stood > recovery {
		t.Errorf("the answer stood still for %v", stood)
	}
	poll(t, "the end of the turn", func() bool {
		return len(server.Query(t, name, "SELECT id FROM turn WHERE ended_at IS NULL")) == 0
	})
	stored := func() (rows []string) {
		for _, table := range []string{"turn", "part", "step", "entry", "inbox", "session", "usage", "block", "chat", "fact"} {
			rows = append(rows, server.Query(t, name, fmt.Sprintf("SELECT '%[1]s ' || %[1]s::text FROM %[1]s ORDER BY 1", table))...)
		}
		return rows
	}
	before := stored()
	t.Run("killed", replicaKilled)                      // this subtest takes less time than the pause
	time.Sleep(time.Until(began.Add(30 * time.Second))) // wait for the rest of the pause; processes have no virtual time
	woke := time.Now()
	paused.signal(syscall.SIGCONT)
	paused.awaitLog("the lease on the store is lost", 1)
	paused.awaitLog("joined the other replicas", 2)
	poll(t, "both replicas", func() bool {
		s := paused.sees(t)
		return s.LeasesLost >= 1 && len(s.Replicas) == 2 && s.Self == s.Replicas[1].ID
	})
	if calls := paused.way.since(woke); len(calls) > 0 {
		t.Errorf("the process that was paused made calls: %v", calls)
	}
	if after := stored(); !slices.Equal(after, before) {
		t.Errorf("the store has changed\nfrom %q\nto   %q", before, after)
	}
	w.wantTexts(ada, openai.Answer("words: 160"))
	if n := server.Query(t, name, "SELECT count(*)::text FROM entry"); n[0] != "2" {
		t.Errorf("the history has %s entries, want 2", n[0])
	}
	paused.stop()
	other.stop()
}
