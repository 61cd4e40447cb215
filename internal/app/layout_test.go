package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path, with which the import path of each of its packages begins.
const module = "telex"

// maxLines is the maximum number of lines of a file. A longer file usually has more than one subject and should be
// split.
const maxLines = 700

// row lists the packages of this module that the package at Path may import. In a pattern, "/*" at the end stands for
// one more path element, and "/..." for any number of path elements. The pattern "..." matches every package.
type row struct {
	Path     string
	Imports  []string // packages that all files of this package may import, including its tests
	Tests    []string // packages that only this package's tests may import, too
	TestOnly bool     // only tests import the package, so it may import testing libraries
}

// importTable says which package may import which packages. TestLayout fails if a package has no row in this table. So whoever
// adds a package must first decide what it may import. docs/architecture.md describes the purpose of each package. Tests of
// packages that talk to other services may use the stand-ins.
func importTable() []row {
	layout := []string{"internal/chat", "internal/markup"}
	adapter := append(slices.Clone(layout), "platforms/internal/*")
	writers := append(slices.Clone(adapter), "internal/markup/marks") // for adapters whose platforms accept Markdown as one string
	adapterTests := []string{"gateway", "gateway/*", "agent", "platforms/*", "standin/*", "internal/config", "internal/markup/*", "internal/store/memory"}
	machinery := []string{"standin/rig", "standin/host", "standin/fault", "standin/quota"}
	return []row{
		{Path: "cmd/telex", Imports: []string{"internal/app", "internal/config"}, Tests: []string{"..."}},

		{Path: "agent", Tests: []string{"agent/*", "standin/*"}},
		{Path: "agent/chatcompletions", Imports: []string{"agent", "agent/provider", "agent/sse"}, Tests: []string{"standin/*"}},
		{Path: "agent/responses", Imports: []string{"agent", "agent/provider", "agent/sse"}, Tests: []string{"standin/*", "agent/chatcompletions"}},
		{Path: "agent/provider", Imports: []string{"agent", "agent/sse"}},
		{Path: "agent/sse"},
		{Path: "agent/transcription", Imports: []string{"agent", "agent/provider"}, Tests: []string{"standin/*"}},
		{Path: "agent/tool", Imports: []string{"agent"}, Tests: []string{"standin/memnet"}},
		{Path: "agent/mcp", Imports: []string{"agent"}, Tests: []string{"standin/memnet"}},

		{
			Path: "gateway", Imports: []string{"internal/chat", "agent", "gateway/*"},
			Tests: []string{"agent/*", "platforms/*", "standin/*", "internal/markup", "internal/store/memory"},
		},
		{Path: "gateway/preview", Imports: layout, Tests: []string{"gateway/budget", "platforms/*", "standin/*"}},
		{Path: "gateway/budget", Imports: []string{"internal/chat"}, Tests: []string{"platforms/*", "standin/*"}},
		{Path: "gateway/approval", Imports: []string{"internal/chat", "agent"}},
		{Path: "gateway/history", Imports: []string{"internal/chat", "agent"}},
		{Path: "gateway/queue", Imports: []string{"internal/chat", "agent"}},
		{Path: "gateway/replica", Imports: []string{"internal/chat"}},
		{Path: "gateway/access", Imports: []string{"internal/chat"}},
		{Path: "gateway/attachment", Imports: []string{"internal/chat", "agent", "gateway/history", "gateway/attachment/pdf"}},
		{Path: "gateway/attachment/pdf"},
		{
			Path:  "gateway/sim",
			Tests: []string{"gateway", "gateway/*", "agent", "internal/chat", "internal/markup", "platforms/telegram", "internal/store/memory"},
		},

		{Path: "platforms/telegram", Imports: adapter, Tests: adapterTests},
		{Path: "platforms/internal/calls", Imports: []string{"internal/chat"}},
		{Path: "platforms/internal/receiving", Imports: []string{"internal/chat"}},
		{Path: "platforms/internal/webhook", Imports: []string{"internal/chat"}, Tests: []string{"standin/memnet"}},
		{Path: "platforms/terminal", Imports: adapter, Tests: adapterTests},
		{Path: "platforms/discord", Imports: writers, Tests: adapterTests},
		{Path: "platforms/slack", Imports: writers, Tests: adapterTests},
		{Path: "platforms/whatsapp", Imports: writers, Tests: adapterTests},
		{Path: "platforms/homeassistant", Imports: writers, Tests: adapterTests},
		{
			Path: "platforms/terminal/ui", Imports: []string{"platforms/terminal"},
			Tests: []string{"internal/chat", "platforms/terminal/screentest"},
		},
		{Path: "platforms/terminal/screentest", TestOnly: true},
		{Path: "platforms/apiserver", Imports: []string{"internal/chat", "agent"}, Tests: []string{"agent/*", "gateway/history", "standin/*", "internal/store/memory"}},
		{Path: "platforms/conformance", Imports: []string{"..."}, TestOnly: true},
		{Path: "platforms/conformance/table"},

		{Path: "standin/telegram", Imports: machinery, Tests: []string{"standin/memnet"}},
		{Path: "standin/discord", Imports: machinery, Tests: []string{"standin/memnet"}},
		{Path: "standin/slack", Imports: machinery, Tests: []string{"standin/memnet"}},
		{Path: "standin/homeassistant", Imports: []string{"standin/rig", "standin/fault"}, Tests: []string{"standin/memnet"}},
		{Path: "standin/whatsapp", Imports: machinery, Tests: []string{"standin/memnet"}},
		{Path: "standin/openai", Imports: []string{"standin/rig"}, Tests: []string{"standin/memnet"}},
		{Path: "standin/host", Tests: []string{"standin/memnet"}},
		{Path: "standin/fault", Imports: []string{"standin/host"}},
		{Path: "standin/rig", Imports: []string{"standin/host", "standin/fault", "standin/watch", "standin/quota"}},
		{Path: "standin/watch"},
		{Path: "standin/quota"},
		{Path: "standin/memnet"},

		{Path: "internal/chat"},
		{Path: "internal/markup", Tests: []string{"internal/markup/*"}},
		{Path: "internal/markup/marks", Imports: []string{"internal/markup"}, Tests: []string{"internal/markup/*"}},
		{Path: "internal/markup/markuptest", Imports: []string{"internal/markup"}, TestOnly: true},
		{Path: "internal/config"},
		{Path: "internal/store", Imports: []string{"internal/chat"}, Tests: []string{"gateway", "internal/store/*"}},
		{Path: "internal/store/memory", Imports: []string{"internal/chat"}},
		{Path: "internal/store/postgres", Imports: []string{"internal/chat", "internal/store"}, Tests: []string{"internal/store/pgtest"}},
		{Path: "internal/store/pgserver", Imports: []string{"internal/outside"}},
		{Path: "internal/store/pgtest", Imports: []string{"internal/store/pgserver"}, TestOnly: true},
		{Path: "internal/metrics", Imports: []string{"internal/chat"}},
		{Path: "internal/admin"},
		{Path: "internal/demo", Imports: []string{"internal/admin", "internal/outside", "standin/*"}},
		{Path: "internal/app", Imports: []string{"..."}},
		{Path: "internal/outside", Imports: []string{"standin/*"}},
		{Path: "internal/bench", Imports: []string{"internal/outside", "standin/*", "internal/store/pgserver"}},
		{Path: "internal/killtest", Imports: []string{"internal/outside", "standin/*", "internal/store", "internal/store/pgserver", "internal/chat"}},
		{Path: "deploy"},
		{Path: "docs", Tests: []string{"..."}},
	}
}

// testLibraries returns packages that only tests may use, so they must not be linked into the telex binary.
func testLibraries() []string {
	return []string{
		"testing", "testing/...", "net/http/httptest",
		"pgregory.net/rapid", "go.uber.org/goleak", "github.com/rogpeppe/go-internal/...",
		"github.com/chromedp/...",
	}
}

// bagNames returns package names that are forbidden. A forbidden name does not say what belongs in the package, so
// unrelated code collects in such a package.
func bagNames() []string {
	return []string{"util", "utils", "common", "types", "helper", "helpers", "misc"}
}

// pkg is the source code of a package. Files maps the path of each file, relative to the module's root, to its
// content.
type pkg struct {
	Path  string // path of the package, relative to the module's root
	Files map[string]string
}

// violation is one place in the code that breaks a rule.
type violation struct {
	At   string // file:line
	What string
	Why  string
}

func (v violation) String() string { return fmt.Sprintf("%s: %s: %s", v.At, v.What, v.Why) }

// check applies every rule to pkgs. check returns the violations, sorted by file name and line.
func check(table []row, pkgs []pkg) []violation {
	var found []violation
	for _, p := range pkgs {
		found = append(found, checkPackage(table, p)...)
	}
	return found
}

func checkPackage(table []row, p pkg) []violation {
	var found []violation
	i := slices.IndexFunc(table, func(r row) bool { return r.Path == p.Path })
	if i < 0 {
		return []violation{{
			p.Path, "package has no row in the import table",
			"add it to importTable with what it may import, and to docs/architecture.md",
		}}
	}
	for name := range strings.SplitSeq(p.Path, "/") {
		if slices.Contains(bagNames(), name) {
			found = append(found, violation{p.Path, "package " + name, "name it by what it can do; bags attract everything"})
		}
	}
	documented := ""
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		src := p.Files[name]
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			found = append(found, violation{name, "does not parse", err.Error()})
			continue
		}
		test := strings.HasSuffix(name, "_test.go")
		if !test && file.Doc != nil {
			documented = path.Base(name)
		}
		found = append(found, checkFile(table[i], fset, file, name, src, test)...)
	}
	want := "doc.go"
	if _, ok := p.Files[path.Join(p.Path, "main.go")]; ok {
		want = "main.go"
	}
	if hasSource(p) && documented != want && documented != "doc.go" {
		found = append(found, violation{p.Path, "no package comment in " + want, "a reader starts there"})
	}
	return found
}

func hasSource(p pkg) bool {
	for name := range p.Files {
		if !strings.HasSuffix(name, "_test.go") {
			return true
		}
	}
	return false
}

func checkFile(r row, fset *token.FileSet, file *ast.File, name, src string, test bool) []violation {
	var found []violation
	report := func(pos token.Pos, what, why string) {
		found = append(found, violation{name + ":" + strconv.Itoa(fset.Position(pos).Line), what, why})
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			report(spec.Pos(), "import "+spec.Path.Value, err.Error())
			continue
		}
		if why := forbidden(r, imported, test); why != "" {
			report(spec.Pos(), "imports "+imported, why)
		}
	}
	if lines := strings.Count(src, "\n"); lines > maxLines && !ast.IsGenerated(file) {
		report(file.FileEnd, fmt.Sprintf("%d lines", lines), fmt.Sprintf("split it by noun before %d", maxLines))
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				report(d.Pos(), "func init", "nothing may happen because a package was imported; call it from app")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR && !test {
				for _, v := range stateVars(file.Name.Name, d) {
					report(v.Pos(), "package variable "+v.Name, "only errors, compiled expressions and embedded files may be; make it a constant, a function or a field")
				}
			}
		}
	}
	return found
}

// forbidden returns the reason why a file of the package in row r may not import the package imported, or "" if it
// may.
func forbidden(r row, imported string, test bool) string {
	if !test && !r.TestOnly && matches(testLibraries(), imported) {
		return "testing libraries stay out of the binary"
	}
	ours, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		return ""
	}
	if matches(r.Imports, ours) {
		return ""
	}
	if !test {
		return fmt.Sprintf("%s may import %s of ours", r.Path, oneOf(r.Imports))
	}
	if ours == r.Path || matches(r.Tests, ours) {
		return ""
	}
	return fmt.Sprintf("tests of %s may import %s of ours", r.Path, oneOf(append(slices.Clone(r.Imports), r.Tests...)))
}

func oneOf(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing"
	}
	return "only " + strings.Join(patterns, ", ")
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
			return strings.HasPrefix(name, prefix)
		}
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// stateVars returns the variables of d that could hold state. stateVars leaves out blank variables, errors, compiled
// regular expressions, embedded files, and the variable of main into which the linker writes the version.
func stateVars(packageName string, d *ast.GenDecl) []*ast.Ident {
	var found []*ast.Ident
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || embedded(d.Doc) || embedded(v.Doc) {
			continue
		}
		for i, name := range v.Names {
			if name.Name == "_" || packageName == "main" && name.Name == "version" {
				continue
			}
			if i < len(v.Values) && harmless(v.Values[i]) {
				continue
			}
			found = append(found, name)
		}
	}
	return found
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// harmless reports whether e creates an error or compiles a regular expression.
func harmless(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch from.Name + "." + sel.Sel.Name {
	case "errors.New", "fmt.Errorf", "regexp.MustCompile":
		return true
	}
	return false
}

// load returns all packages of the module, with their files for all operating systems and build tags.
func load(t *testing.T) []pkg {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", // -e also lists packages that don't build
		"-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Dir                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		p := pkg{Path: strings.TrimPrefix(listed.ImportPath, module+"/"), Files: map[string]string{}}
		for _, name := range slices.Concat(listed.GoFiles, listed.CgoFiles, listed.IgnoredGoFiles, listed.TestGoFiles, listed.XTestGoFiles) {
			src, err := os.ReadFile(filepath.Join(listed.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			p.Files[path.Join(p.Path, name)] = string(src)
		}
		pkgs = append(pkgs, p)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	pkgs := load(t)
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages, want the whole module", len(pkgs))
	}
	for _, v := range check(importTable(), pkgs) {
		t.Error(v)
	}
}

func TestLayoutTableNamesEachPackageOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range importTable() {
		if seen[r.Path] {
			t.Errorf("%s has two rows", r.Path)
		}
		seen[r.Path] = true
	}
}

// docs/architecture.md must list the same imports as importTable. The package docs has no row in docs/architecture.md,
// because it contains no code.
func TestLayoutIsDrawn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]string{} // maps the path of each package to the imports that docs/architecture.md lists for it
	_, section, _ := strings.Cut(string(page), "\n## Packages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			name = strings.Trim(name, " `")
			if _, twice := drawn[name]; twice {
				t.Errorf("%s is drawn twice", name)
			}
			drawn[name] = strings.TrimSpace(cells[3])
		}
	}
	for _, r := range importTable() {
		want := strings.Join(r.Imports, ", ")
		switch want {
		case "":
			want = "–"
		case "...":
			want = "all"
		}
		if got, ok := drawn[r.Path]; r.Path != "docs" && (!ok || got != want) {
			t.Errorf("docs/architecture.md says that %s imports %q, want %q", r.Path, got, want)
		}
		delete(drawn, r.Path)
	}
	for name := range drawn {
		t.Errorf("docs/architecture.md draws %s, which is no package", name)
	}
}

func TestLayoutFindsViolations(t *testing.T) {
	t.Parallel()
	table := []row{
		{Path: "core"},
		{Path: "edge", Imports: []string{"core"}, Tests: []string{"fake/*"}},
		{Path: "suite", Imports: []string{"..."}, TestOnly: true},
		{Path: "cmd/x", Imports: []string{"core"}},
		{Path: "internal/util"},
	}
	const doc = "// Package x is documented.\npackage x\n"
	for _, tt := range []struct {
		name  string
		path  string
		files map[string]string
		want  []string // the beginning of each expected violation
	}{
		{"clean", "edge", map[string]string{
			"doc.go":    doc,
			"a.go":      "package x\nimport _ \"telex/core\"\nimport _ \"io\"\n",
			"a_test.go": "package x_test\nimport _ \"telex/edge\"\nimport _ \"telex/fake/a\"\nimport _ \"testing\"\n",
		}, nil},
		{"unknown package", "new", map[string]string{"doc.go": doc}, []string{"new: package has no row"}},
		{"forbidden import", "core", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\nimport _ \"telex/edge\"\n",
		}, []string{"core/a.go:2: imports telex/edge: core may import nothing of ours"}},
		{"test import in source", "edge", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\nimport _ \"telex/fake/a\"\n",
		}, []string{"edge/a.go:2: imports telex/fake/a: edge may import only core"}},
		{"forbidden import in test", "edge", map[string]string{
			"doc.go":    doc,
			"a_test.go": "package x\nimport _ \"telex/suite\"\n",
		}, []string{"edge/a_test.go:2: imports telex/suite: tests of edge may import only core, fake/*"}},
		{"a pattern matches one element", "edge", map[string]string{
			"doc.go":    doc,
			"a_test.go": "package x\nimport _ \"telex/fake/a/b\"\n",
		}, []string{"edge/a_test.go:2: imports telex/fake/a/b"}},
		{"testing in source", "core", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\nimport (\n\t_ \"testing\"\n\t_ \"testing/synctest\"\n\t_ \"pgregory.net/rapid\"\n)\n",
		}, []string{
			"core/a.go:3: imports testing: testing libraries", "core/a.go:4: imports testing/synctest",
			"core/a.go:5: imports pgregory.net/rapid",
		}},
		{"testing in a suite", "suite", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\nimport _ \"testing\"\nimport _ \"telex/edge\"\n",
		}, nil},
		{"no package comment", "core", map[string]string{"a.go": "package x\n"}, []string{"core: no package comment in doc.go"}},
		{"comment in another file", "core", map[string]string{"a.go": doc}, []string{"core: no package comment in doc.go"}},
		{"comment of a test", "core", map[string]string{
			"a.go": "package x\n", "doc_test.go": doc,
		}, []string{"core: no package comment in doc.go"}},
		{"tests alone need no comment", "core", map[string]string{"a_test.go": "package x\n"}, nil},
		{"comment in main.go", "cmd/x", map[string]string{"main.go": doc}, nil},
		{"bag", "internal/util", map[string]string{"doc.go": doc}, []string{"internal/util: package util"}},
		{"init", "core", map[string]string{
			"doc.go":    doc,
			"a.go":      "package x\ntype t struct{}\nfunc (t) init() {}\nfunc init() {}\n",
			"a_test.go": "package x\nfunc init() {}\n",
		}, []string{"core/a.go:4: func init", "core/a_test.go:2: func init"}},
		{"state", "core", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\nvar m = map[int]int{}\nvar (\n\ta, b int\n\tmu sync.Mutex\n)\nvar version = \"1\"\n",
		}, []string{
			"core/a.go:2: package variable m", "core/a.go:4: package variable a", "core/a.go:4: package variable b",
			"core/a.go:5: package variable mu", "core/a.go:7: package variable version",
		}},
		{"no state", "core", map[string]string{
			"doc.go": doc,
			"a.go": "package x\nvar ErrA = errors.New(\"a\")\nvar re = regexp.MustCompile(`a`)\nvar _ io.Reader = (*t)(nil)\n" +
				"//go:embed page.html\nvar page []byte\nfunc f() { var local int; _ = local }\n",
			"a_test.go": "package x\nvar update = flag.Bool(\"update\", false, \"\")\n",
		}, nil},
		{"the linker's version", "cmd/x", map[string]string{
			"main.go": "// Command main is documented.\npackage main\nvar version = \"unknown\"\n",
		}, nil},
		{"long file", "core", map[string]string{
			"doc.go": doc,
			"a.go":   "package x\n" + strings.Repeat("\n", maxLines),
			"b.go":   "package x\n" + strings.Repeat("\n", maxLines-1),
			"gen.go": "// Code generated by x. DO NOT EDIT.\n\npackage x\n" + strings.Repeat("\n", maxLines),
		}, []string{"core/a.go:701: 701 lines"}},
		{"broken file", "core", map[string]string{
			"doc.go": doc,
			"a.go":   "pakage x\n",
		}, []string{"core/a.go: does not parse"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for name, src := range tt.files {
				files[path.Join(tt.path, name)] = src
			}
			got := check(table, []pkg{{Path: tt.path, Files: files}})
			ok := slices.EqualFunc(got, tt.want, func(v violation, want string) bool {
				return strings.HasPrefix(v.String(), want)
			})
			if !ok {
				t.Errorf("got:\n%v\nwant beginnings:\n%v", got, strings.Join(tt.want, "\n"))
			}
		})
	}
}
