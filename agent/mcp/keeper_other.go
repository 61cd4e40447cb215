//go:build !linux

package mcp

import "os/exec"

// keeperSupported says that no keeper can run on this system, because a keeper needs the subreapers of Linux. Instead, a
// server gets its own process group, which is killed when the server ends and when the daemon stops gracefully.
const keeperSupported = false

// Keep is never called on this system.
func Keep([]string) int { return 1 }

func sweep(int, string) {}

func isolate(*exec.Cmd) {}
