//go:build !linux

package mcp

import "os/exec"

// keeperSupported says that no keeper can run here: it needs Linux's subreapers. A server gets a process group instead.
// The group is killed when the server ends, and when the daemon stops gracefully.
const keeperSupported = false

// Keep is never run here.
func Keep([]string) int { return 1 }

func sweep(int, string) {}

func isolate(*exec.Cmd) {}
