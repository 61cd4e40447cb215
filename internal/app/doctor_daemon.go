package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/config"
)

// serviceCredentials is the directory from which the running service reads its configuration. When systemd starts the
// service, it copies /etc/telex/config.yaml into this directory.
const serviceCredentials = "/run/credentials/telex.service"

// daemon checks the status of the running daemon.
func (d *doctor) daemon(ctx context.Context, c *config.Config) []finding {
	const check = "daemon"
	dir, err := stateDir(d.env)
	if err != nil {
		return nil // the method machine reports this error, so it is not reported twice
	}
	held, runs := d.running(ctx, dir)
	if !runs {
		return nil
	}
	s, err := askStatus(ctx, d.env, dir)
	switch {
	case errors.Is(err, errNoSocket):
		return []finding{{
			check, doubt, held + ", but can't be reached by its control socket",
			"if that process is just starting or stopping, wait; otherwise end it, or set another STATE_DIRECTORY for this configuration",
		}}
	case err != nil:
		return []finding{{check, doubt, err.Error(), "run telex doctor as root or as the daemon's user, in the same version as the daemon"}}
	case !sameFile(readBy(c.File()), readBy(s.Config)):
		return []finding{{
			check, problem, fmt.Sprintf("another daemon holds the state directory %s: process %d, with the configuration %s", dir, s.PID, s.Config),
			fmt.Sprintf("stop that one (kill %d), or set another STATE_DIRECTORY for this configuration", s.PID),
		}}
	case s.Hangs != "":
		return []finding{{check, problem, fmt.Sprintf("something hangs in process %d: %s", s.PID, s.Hangs), "look for a slow disk; then restart the daemon"}}
	}
	found := []finding{{Check: check, State: healthy, What: fmt.Sprintf("process %d of version %s runs since %s", s.PID, s.Version, s.Started.Local().Format(time.DateTime))}}
	for _, e := range s.Endpoints {
		if e.Error != "" {
			found = append(found, finding{check, problem, fmt.Sprintf("its endpoint %s is %s: %s", e.Name, e.State, e.Error), mendOfEndpoint(e)})
		}
	}
	return append(found, judgeReplicas(s)...)
}

// judgeReplicas checks the daemons that share a database.
func judgeReplicas(s DaemonStatus) []finding {
	const check = "replicas"
	var found []finding
	if s.Store != "" {
		found = append(found, finding{
			"daemon", problem, "it answers nobody for now: " + s.Store,
			"start the database, or repair the network connection to it; the daemon then continues by itself",
		})
	}
	if s.Replicas == nil || len(s.Replicas.Replicas) == 0 {
		return found
	}
	list := s.Replicas.Replicas
	versions, endpoints, names := make(map[string]bool), make(map[string]bool), make([]string, 0, len(list))
	for _, r := range list {
		names = append(names, fmt.Sprintf("%s (%s)", r.Name, r.Version))
		if r.Leaving {
			continue
		}
		versions[r.Version], endpoints[strings.Join(r.Endpoints, ", ")] = true, true
	}
	if len(versions) > 1 {
		found = append(found, finding{
			check, doubt, "the daemons that share the database have different versions: " + strings.Join(names, ", "),
			"complete the upgrade: install the same version on all machines, and restart them one after the other",
		})
	}
	if len(endpoints) > 1 {
		found = append(found, finding{
			check, doubt, "the daemons that share the database run different endpoints: " + strings.Join(slices.Sorted(maps.Keys(endpoints)), " and "),
			"give all of them the same configuration, then run telex reload on each machine",
		})
	}
	if len(found) == 0 {
		found = append(found, finding{Check: check, State: healthy, What: "daemons that share the database: " + strings.Join(names, ", ")})
	}
	return found
}

// judgeCompilers finds MCP servers whose runtime, such as Node.js, generates machine code and executes it. The sandbox of the
// systemd service would kill an MCP server whose runtime generates machine code.
func judgeCompilers(unit map[string]string, servers []config.MCPServer) (found []finding) {
	compilers := []string{"node", "npx", "npm", "bun", "bunx", "deno", "java", "pypy", "pypy3", "dotnet", "luajit"}
	for _, s := range servers {
		if unit["MemoryDenyWriteExecute"] == "yes" && slices.Contains(compilers, filepath.Base(s.Command)) {
			found = append(found, finding{
				"MCP server " + s.Name, doubt, s.Command + " compiles code while it runs, which the unit forbids (MemoryDenyWriteExecute)",
				"run systemctl edit telex, and write [Service] and, on the next line, MemoryDenyWriteExecute=no; then run systemctl restart telex",
			})
		}
	}
	return found
}

// readBy returns the file that an operator must edit to change the configuration at path. If path is the copy that systemd
// makes for the service, readBy returns the original in /etc/telex.
func readBy(path string) string {
	if filepath.Dir(path) == serviceCredentials {
		return filepath.Join(filepath.Dir(serviceConfig), filepath.Base(path))
	}
	return path
}

// mendOfEndpoint returns how to fix an endpoint that the daemon can't use.
func mendOfEndpoint(e EndpointStatus) string {
	switch {
	case strings.HasPrefix(e.Error, chat.Conflict.String()+":"):
		return "another program uses the same token, maybe on another machine: stop it, or give each of them a bot of its own"
	case e.State == string(gateway.Stopped):
		return "correct the credentials in platforms." + e.Name + ", and run telex reload"
	}
	return "the daemon tries again by itself; if this lasts, the cause is in its log"
}
