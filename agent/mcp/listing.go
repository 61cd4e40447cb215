package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

const (
	maxTools    = 200     // tools of a server; the agent offers at most 128 tools in all
	maxPages    = 50      // pages of a server's list of tools
	maxListing  = 1 << 20 // bytes of all descriptions and schemas, which stay in memory
	maxLeftOut  = 5       // maximum number of omitted tools in one log line
	maxListName = 256     // bytes of the server's name for a tool
)

// listing collects the tools of a server's list, page by page.
type listing struct {
	server  *server
	defs    []agent.ToolDef
	names   []string // the server's names of all tools
	bytes   int      // size of descriptions and schemas
	leftOut []string // tools that can't be offered, with the reasons
}

// take adds the tools of one page. take reports whether more tools may be added.
func (l *listing) take(ctx context.Context, page []*sdk.Tool) bool {
	for _, t := range page {
		if len(l.names) == maxTools {
			l.server.log.LogAttrs(ctx, slog.LevelWarn, "MCP server has too many tools, the rest is left out", slog.Int("most", maxTools))
			return false
		}
		if t == nil {
			continue
		}
		l.names = append(l.names, strings.Clone(agent.Clip(t.Name, maxListName)))
		if l.server.listed(l.server.Deny, t.Name) {
			continue
		}
		if err := l.add(t); err != nil {
			l.leftOut = append(l.leftOut, fmt.Sprintf("%s: %v", agent.Clip(agent.OneLine(agent.Clip(t.Name, maxListName)), agent.MaxToolName), err))
		}
	}
	return true
}

func (l *listing) add(t *sdk.Tool) error {
	s := l.server
	def, err := s.define(t)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(l.defs, func(d agent.ToolDef) bool { return d.Name == def.Name }) {
		return errors.New("another has its name")
	}
	size := len(def.Description) + len(def.Parameters)
	if l.bytes+size > maxListing {
		return fmt.Errorf("descriptions and schemas of the server's tools exceed %d MiB", maxListing>>20)
	}
	l.bytes += size
	name, offered := strings.Clone(t.Name), def
	def.Call = func(ctx context.Context, in agent.Input) (agent.Output, error) {
		return s.call(ctx, name, offered, in)
	}
	l.defs = append(l.defs, def)
	return nil
}

// done returns the collected tools, sorted by name. If tools were omitted, done logs the reasons for the first maxLeftOut of
// them.
func (l *listing) done(ctx context.Context) []agent.ToolDef {
	if n := len(l.leftOut); n > 0 {
		l.server.log.LogAttrs(ctx, slog.LevelWarn, "tools of an MCP server are left out", slog.Int("tools", n), slog.Any("why", l.leftOut[:min(n, maxLeftOut)]))
	}
	l.warnUnmatched(ctx)
	slices.SortFunc(l.defs, func(a, b agent.ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return l.defs
}

// warnUnmatched logs a warning for each entry of the configuration that matches no tool. Without the warning, an operator
// with a typing error in deny would believe that the tool is denied.
func (l *listing) warnUnmatched(ctx context.Context) {
	s := l.server
	for _, entry := range slices.Concat(s.Deny, s.ReadOnly, s.AutoApprove) {
		if !slices.ContainsFunc(l.names, func(name string) bool { return s.means(entry, name) }) {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the MCP server has no tool with a name in deny, read_only or auto_approve", slog.String("name", entry))
		}
	}
}
