package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// cpuPeriod is the period of the kernel's CPU limit: in each period, a limited process may run for its share of the
// period.
const cpuPeriod = 20 * time.Millisecond

// limit limits the process to the given share of one processor from now on. If share is 0, limit does nothing. limit needs
// root, because it creates a control group.
func (p *process) limit(share float64) error {
	if share == 0 {
		return nil
	}
	period, quota := cpuPeriod.Microseconds(), int64(share*float64(cpuPeriod.Microseconds()))
	root, files := "/sys/fs/cgroup/cpu", map[string]string{
		"cpu.cfs_period_us": strconv.FormatInt(period, 10), "cpu.cfs_quota_us": strconv.FormatInt(quota, 10),
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil { // this machine uses control groups version 2
		root, files = "/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, period)}
	}
	group := filepath.Join(root, fmt.Sprintf("telex-bench-%d", p.Cmd.Process.Pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		return fmt.Errorf("limit the processor time: %w", err)
	}
	p.group = group
	files["cgroup.procs"] = strconv.Itoa(p.Cmd.Process.Pid)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("limit the processor time: %w", err)
		}
	}
	return nil
}

// stop stops the process gracefully and removes its directory.
func (p *process) stop() error {
	err := errors.Join(p.Stop(), os.RemoveAll(p.dir))
	if p.group != "" {
		err = errors.Join(err, os.Remove(p.group))
	}
	return err
}
