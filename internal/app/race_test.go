package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packagesOf returns the output of tools/packages.sh. The Makefile uses tools/packages.sh to decide how each package is tested.
func packagesOf(t *testing.T, kind ...string) (list []string) {
	t.Helper()
	script := filepath.Join("..", "..", "tools", "packages.sh")
	out, err := exec.CommandContext(t.Context(), "sh", append([]string{script}, kind...)...).CombinedOutput() //nolint:gosec // the script is part of this repository
	if err != nil {
		t.Fatalf("%s %s: %v: %s", script, kind, err, out)
	}
	for line := range strings.Lines(string(out)) {
		list = append(list, strings.TrimPrefix(strings.TrimSpace(line), "./"))
	}
	return list
}

// concurrency describes the first construct in a file that is concurrent, or that suggests that the file contains concurrent
// code. If a file contains nothing of this kind, concurrency returns "".
func concurrency(f *ast.File) (found string) {
	for _, i := range f.Imports {
		switch name, _ := strconv.Unquote(i.Path.Value); name {
		case "sync", "sync/atomic", "testing/synctest", "os/exec", "net/http", "net/http/httptest", "golang.org/x/sync/errgroup":
			return "import of " + name
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = "go statement"
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			found = "channel"
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				found = "channel"
			}
		}
		return found == ""
	})
	return found
}

// handsOn reports whether a file gives other code access to all environment variables, by using os.LookupEnv as a
// value instead of calling it.
func handsOn(f *ast.File) (yes bool) {
	called := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && n.Sel.Name == "LookupEnv" && !called[n] {
				yes = true
			}
		}
		return !yes
	})
	return yes
}

// isTest reports whether d is a function that go test runs.
func isTest(d *ast.FuncDecl) bool {
	return d.Recv == nil && d.Name.Name != "TestMain" && slices.ContainsFunc([]string{"Test", "Fuzz", "Example"}, func(kind string) bool {
		return strings.HasPrefix(d.Name.Name, kind)
	})
}

// `make test` must run every test. `make test` must use the race detector for packages with concurrent code, except
// for files that exclude the race detector. `make test` must test packages that read the whole environment a second
// time, with streaming switched off by the environment.
func TestLayoutRunsWhatItMust(t *testing.T) {
	t.Parallel()
	raced, unraced, environment := packagesOf(t, "raced"), packagesOf(t, "unraced"), packagesOf(t, "environment")
	named := strings.Split(strings.Join(packagesOf(t, append([]string{"tests"}, unraced...)...), ""), "|")
	for _, p := range load(t) {
		isRaced, isUnraced := slices.Contains(raced, p.Path), slices.Contains(unraced, p.Path)
		if !isRaced && !isUnraced {
			t.Errorf("%s: make test does not run its tests", p.Path)
		}
		for name, src := range p.Files {
			f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			found, only := concurrency(f), strings.HasPrefix(src, "//go:build !race\n")
			switch {
			case only && !isUnraced:
				t.Errorf("%s: make test never runs it", name)
			case only && found != "":
				t.Errorf("%s: it is not for the race detector and is concurrent: %s", name, found)
			case found != "" && !isRaced:
				t.Errorf("%s: it is concurrent (%s), and its package is tested without the race detector", name, found)
			}
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && only && isTest(d) && !slices.Contains(named, d.Name.Name) {
					t.Errorf("%s: %s is in no run of make test where only named tests are run without the race detector", name, d.Name.Name)
				}
			}
			if handsOn(f) && !strings.HasPrefix(src, "//go:build ") && !slices.Contains(environment, p.Path) {
				t.Errorf("%s: it sees the environment, and its package's tests are not run with streaming switched off there", name)
			}
		}
	}
	for kind, want := range map[string]string{"tests": "TestWebhookFlood", "switched": "TestDemoEntities"} {
		if got := packagesOf(t, kind, "./cmd/telex"); len(got) != 1 || !slices.Contains(strings.Split(got[0], "|"), want) {
			t.Errorf("%s of cmd/telex: %q, want %s among them", kind, got, want)
		}
	}
}
