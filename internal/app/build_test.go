package app

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	tail := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	vcs := func(settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-1"}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name, release string
		info          *debug.BuildInfo
		want          string
	}{
		{"a release", "v1.2.3", vcs("vcs.revision", commit, "vcs.time", "2026-03-14T15:09:26Z", "vcs.modified", "false"), "telex v1.2.3 (commit 0123456789ab, 2026-03-14T15:09:26Z"},
		{"no release", "", vcs("vcs.revision", commit, "vcs.time", "2026-03-14T15:09:26Z"), "telex v0.0.0-1 (commit 0123456789ab, 2026-03-14T15:09:26Z"},
		{"with changes", "v1.2.3", vcs("vcs.revision", commit, "vcs.time", "2026-03-14T15:09:26Z", "vcs.modified", "true"), "telex v1.2.3 (commit 0123456789ab with changes, 2026-03-14T15:09:26Z"},
		{"no repository", "v1.2.3", vcs(), "telex v1.2.3 (commit unknown"},
	} {
		if got := buildOf(c.release, c.info).String(); got != c.want+tail {
			t.Errorf("%s: %q, want %q", c.name, got, c.want+tail)
		}
	}
	if got, want := Build("v1.2.3,"+commit+",2026-03-14T15:09:26Z"), "telex v1.2.3 (commit 0123456789ab, 2026-03-14T15:09:26Z"+tail; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if Version("v1.2.3") != "v1.2.3" || Version("v1.2.3,"+commit+",2026-03-14T15:09:26Z") != "v1.2.3" || Version("v1.2.3,,") != "v1.2.3" || Version("") == "" {
		t.Errorf("versions %q, %q", Version("v1.2.3"), Version(""))
	}
}
