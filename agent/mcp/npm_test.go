//go:build mcpnpm

package mcp

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"telex/agent"
)

// These are MCP servers of other authors, from npm. `make test-mcp` tests telex's client with them. Their versions are fixed,
// so if a test fails, the cause is a change in telex.
const (
	npmEverything = "@modelcontextprotocol/server-everything@2026.8.31"
	npmFilesystem = "@modelcontextprotocol/server-filesystem@2026.8.31"
	npmMemory     = "@modelcontextprotocol/server-memory@2026.8.31"
)

func npx(name, pkg string, args ...string) Server {
	return Server{Name: name, Command: "npx", Args: append([]string{"--yes", pkg}, args...)}
}

func names(box agent.Toolbox) []string {
	var all []string
	for _, def := range box.Tools() {
		mark := ""
		if def.ReadOnly {
			mark = " (read-only)"
		}
		all = append(all, def.Name+mark)
	}
	return all
}

// checkEverything makes one call of each kind to the server npmEverything.
func checkEverything(t *testing.T, c *Client) {
	t.Helper()
	echo := find(t, c, "everything_echo")
	t.Log(strings.Join(names(c), ", "))
	for _, st := range c.Status() {
		t.Logf("%+v", st)
	}
	if got := call(t, echo, `{"message":"hello"}`).Text; !strings.Contains(got, "hello") {
		t.Errorf("echo: %q", got)
	}
	if got := call(t, find(t, c, "everything_get-sum"), `{"a":2,"b":40}`).Text; !strings.Contains(got, "42") {
		t.Errorf("get-sum: %q", got)
	}
	out := call(t, find(t, c, "everything_get-tiny-image"), `{}`)
	if len(out.Images) != 1 || out.Images[0].MediaType != "image/png" {
		t.Errorf("get-tiny-image: %q, %d images", out.Text, len(out.Images))
	}
	structured := call(t, find(t, c, "everything_get-structured-content"), `{"location":"Chicago"}`)
	if !json.Valid([]byte(structured.Text)) {
		t.Errorf("get-structured-content: %q", structured.Text)
	}
	var steps []string
	long := find(t, c, "everything_trigger-long-running-operation")
	if _, err := long.Call(t.Context(), agent.Input{
		Arguments: `{"duration":2,"steps":4}`, Progress: func(s string) { steps = append(steps, s) },
	}); err != nil || len(steps) == 0 {
		t.Errorf("trigger-long-running-operation: %v, progress %q", err, steps)
	}
	t.Logf("progress: %q", steps)
	if _, err := echo.Call(t.Context(), agent.Input{Arguments: `{"wrong":1}`}); err == nil {
		t.Error("echo took wrong arguments")
	} else {
		t.Logf("wrong arguments: %v", err)
	}
}

func TestNPMEverythingOverStdio(t *testing.T) {
	c, _ := running(t, npx("everything", npmEverything, "stdio"))
	checkEverything(t, c)
}

func TestNPMEverythingOverHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	begin := func() *exec.Cmd {
		cmd := exec.Command("npx", "--yes", npmEverything, "streamableHttp")
		cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	cmd := begin()
	defer func() { end(cmd) }()
	c, _ := running(t, Server{Name: "everything", URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)})
	checkEverything(t, c)

	// The server is killed and comes back without knowing the session.
	end(cmd)
	cmd = begin()
	echo := find(t, c, "everything_echo")
	said := ""
	until(t, "an answer of the new server", func() bool {
		out, err := echo.Call(t.Context(), agent.Input{Arguments: `{"message":"again"}`})
		if err != nil && err.Error() != said {
			said = err.Error()
			t.Logf("meanwhile: %v", err)
		}
		return err == nil && strings.Contains(out.Text, "again")
	})
}

func TestNPMFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("the tide is out"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := running(t, npx("files", npmFilesystem, dir))
	read := find(t, c, "files_read_text_file")
	t.Log(strings.Join(names(c), ", "))
	if !read.ReadOnly || find(t, c, "files_write_file").ReadOnly {
		t.Error("the hints of the server are not honoured")
	}
	path := func(name string) string { return fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, name)) }
	if got := call(t, read, path("a.txt")).Text; got != "the tide is out" {
		t.Errorf("read_text_file: %q", got)
	}
	call(t, find(t, c, "files_write_file"), fmt.Sprintf(`{"path":%q,"content":"in"}`, filepath.Join(dir, "b.txt")))
	if got, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(got) != "in" {
		t.Errorf("write_file: %q, %v", got, err)
	}
	if _, err := read.Call(t.Context(), agent.Input{Arguments: `{"path":"/etc/passwd"}`}); err == nil {
		t.Error("read_text_file left its directory")
	}
}

func TestNPMMemory(t *testing.T) {
	s := npx("memory", npmMemory)
	s.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	c, _ := running(t, s)
	create := find(t, c, "memory_create_entities")
	t.Log(strings.Join(names(c), ", "))
	call(t, create, `{"entities":[{"name":"Ada","entityType":"person","observations":["likes tides"]}]}`)
	if got := call(t, find(t, c, "memory_read_graph"), `{}`).Text; !strings.Contains(got, "likes tides") {
		t.Errorf("read_graph: %q", got)
	}
}
