package app

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version returns the version of this binary. A release build sets release to "version" or "version,commit,date". If
// release is empty, Version returns the version in the build information.
func Version(release string) string {
	return buildOf(release, nil).version
}

// Build describes this binary in one line: version, commit, date of the commit, Go version and platform. If release lacks one
// of these values, Build takes the value from the build information in the binary.
func Build(release string) string {
	return buildOf(release, nil).String()
}

// build contains the build information of a binary.
type build struct {
	version  string
	commit   string // empty: the sources were not in a repository
	date     string // date of the commit
	modified bool   // the sources differed from the commit
}

// buildOf combines release with the build information info. If info is nil, buildOf uses the build information of this
// binary.
func buildOf(release string, info *debug.BuildInfo) build {
	release, about, _ := strings.Cut(release, ",")
	if commit, date, ok := strings.Cut(about, ","); ok && commit != "" {
		return build{version: release, commit: commit, date: date}
	}
	if info == nil {
		var ok bool
		if info, ok = debug.ReadBuildInfo(); !ok {
			return build{version: cmp.Or(release, "unknown")}
		}
	}
	b := build{version: cmp.Or(release, info.Main.Version, "unknown")}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

// String implements fmt.Stringer.
func (b build) String() string {
	about := []string{"commit unknown"}
	if b.commit != "" {
		about[0] = "commit " + b.commit[:min(len(b.commit), 12)]
		if b.modified {
			about[0] += " with changes"
		}
		about = append(about, b.date)
	}
	about = append(about, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return fmt.Sprintf("telex %s (%s)", b.version, strings.Join(about, ", "))
}
