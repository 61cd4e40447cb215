//go:build !linux

package mcp

import "os/exec"

// keeperSupported says that a keeper can run here: it needs Linux's subreapers. Elsewhere a server is in a process group
// of its own, which ends with it and with the daemon's orderly stop.
const keeperSupported = false

// Keep is never run here.
func Keep([]string) int { return 1 }

func sweep(int, string) {}

func isolate(*exec.Cmd) {}
