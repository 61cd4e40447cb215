package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The attributes by which the suite says which case a test is, and which ability it asked for in vain. They are
// those of platforms/conformance, which this program can't import: it is made for tests.
const (
	attrCase  = "case"
	attrLacks = "lacks"
)

// suite begins the name of every test that runs the suite; what follows tells apart those of one package.
const suite = "TestConformance"

// event is a line of `go test -json`; see `go doc cmd/test2json`.
type event struct {
	Action, Package, Test, Output string
	Key, Value                    string // Action attr
}

// The cells.
const (
	ok      = "ok"
	failed  = "FAILED"
	skipped = "SKIPPED" // a failure as well: the suite skips nothing
	started = "DIED"    // unless more is heard of it
	missing = "-"
)

// cell is what came of one case on one platform.
type cell struct {
	name   string
	state  string
	lacks  string
	output strings.Builder
}

// String is the cell as the table shows it.
func (c *cell) String() string {
	if c.state == ok && c.lacks != "" {
		return "no " + c.lacks
	}
	return c.state
}

// column is one run of the suite.
type column struct {
	name  string
	cells []*cell
}

// of returns the cell of a case, nil without one.
func (c *column) of(name string) *cell {
	for _, cell := range c.cells {
		if cell.name == name {
			return cell
		}
	}
	return nil
}

// table collects what the tests say.
type table struct {
	columns []*column
	tests   map[string]*cell // by package and test
	broken  []string         // packages and tests around the cases that failed
	output  map[string]*strings.Builder
}

// read takes all lines. What is no event, such as what a linker prints, is kept as a complaint.
func (t *table) read(r io.Reader) error {
	t.tests, t.output = map[string]*cell{}, map[string]*strings.Builder{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0:
		case json.Unmarshal(text, &e) != nil:
			t.say("", string(line))
		default:
			t.take(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a line: %w", err)
		}
	}
}

// say keeps what a test, a package or nobody said.
func (t *table) say(who, text string) {
	if t.output[who] == nil {
		t.output[who] = &strings.Builder{}
	}
	t.output[who].WriteString(text)
}

// take folds in one event.
func (t *table) take(e event) {
	key := e.Package + " " + e.Test
	c := t.tests[key]
	if e.Action == "attr" && e.Key == attrCase && c == nil {
		c = &cell{name: e.Value, state: started}
		t.tests[key] = c
		column := t.column(e)
		column.cells = append(column.cells, c)
	}
	switch {
	case c == nil:
		t.around(key, e)
	case e.Action == "attr" && e.Key == attrLacks:
		c.lacks = e.Value
	case e.Action == "output":
		c.output.WriteString(e.Output)
	case e.Action == "pass":
		c.state = ok
	case e.Action == "fail":
		c.state = failed
	case e.Action == "skip":
		c.state = skipped
	}
}

// around notes what is no case: a package, or the test that runs the cases.
func (t *table) around(key string, e event) {
	switch e.Action {
	case "output":
		t.say(key, e.Output)
	case "build-output": // it names no package, only what was built
		t.say("", e.Output)
	case "fail", "build-fail":
		t.broken = append(t.broken, key)
	}
}

// column returns the one that a case's test belongs to: named by the platform, and by what follows the suite's
// name where a platform runs it in more than one way.
func (t *table) column(e event) *column {
	test, _, _ := strings.Cut(e.Test, "/")
	name := strings.TrimSpace(path.Base(e.Package) + " " + strings.ToLower(strings.TrimPrefix(test, suite)))
	for _, c := range t.columns {
		if c.name == name {
			return c
		}
	}
	t.columns = append(t.columns, &column{name: name})
	return t.columns[len(t.columns)-1]
}

// rows are the names of the cases: as the column has them that has most, then those that only others have.
func (t *table) rows() []string {
	columns := slices.Clone(t.columns)
	slices.SortStableFunc(columns, func(a, b *column) int { return len(b.cells) - len(a.cells) })
	var names []string
	for _, column := range columns {
		for _, c := range column.cells {
			if !slices.Contains(names, c.name) {
				names = append(names, c.name)
			}
		}
	}
	return names
}

// good says that there are cases, and that every one passed on every platform.
func (t *table) good() bool {
	rows := t.rows()
	return len(rows) > 0 && len(t.broken) == 0 && !slices.ContainsFunc(t.columns, func(c *column) bool {
		return len(c.cells) != len(rows) || slices.ContainsFunc(c.cells, func(c *cell) bool { return c.state != ok })
	})
}

// beside are the packages that failed for another reason than a case of theirs: they did not build, or died.
func (t *table) beside() []string {
	var packages []string
	for _, key := range t.broken {
		name, test, _ := strings.Cut(key, " ")
		failed := slices.ContainsFunc(t.broken, func(other string) bool { return strings.HasPrefix(other, name+" "+suite) })
		if test == "" && name != "" && !failed && !slices.Contains(packages, name) {
			packages = append(packages, name)
		}
	}
	return packages
}

// complaints are what the tests said that failed, and what was said around them.
func (t *table) complaints() string {
	var b strings.Builder
	complain := func(title, text string) {
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(&b, "--- %s\n%s\n", title, strings.TrimRight(text, "\n"))
		}
	}
	for _, column := range t.columns {
		for _, c := range column.cells {
			if c.state != ok {
				complain(column.name+": "+c.name, c.output.String())
			}
		}
	}
	for _, key := range t.beside() {
		if text := t.output[key+" "]; text != nil {
			complain(key, text.String())
		}
	}
	if text := t.output[""]; text != nil {
		complain("beside the tests", text.String())
	}
	return b.String()
}

// String draws the table, and below it a line with the sums.
func (t *table) String() string {
	rows := t.rows()
	columns := slices.Clone(t.columns)
	slices.SortFunc(columns, func(a, b *column) int { return strings.Compare(a.name, b.name) })
	widths := make([]int, len(columns)+1)
	lines := [][]string{{"case"}}
	for _, c := range columns {
		lines[0] = append(lines[0], c.name)
	}
	sums := map[string]int{}
	for _, name := range rows {
		line := []string{name}
		for _, c := range columns {
			text := missing
			if cell := c.of(name); cell != nil {
				text = cell.String()
			}
			kind, _, _ := strings.Cut(text, " ")
			sums[kind]++
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for i, line := range lines {
		writeRow(&b, line, widths)
		if i == 0 {
			rule := make([]string, len(widths))
			for i, w := range widths {
				rule[i] = strings.Repeat("-", w)
			}
			writeRow(&b, rule, widths)
		}
	}
	bad := sums[failed] + sums[skipped] + sums[started] + sums[missing]
	fmt.Fprintf(&b, "\n%d cases, %d platforms: %d ok, %d not theirs, %d bad\n", len(rows), len(columns), sums[ok], sums["no"], bad)
	for _, key := range t.beside() {
		fmt.Fprintf(&b, "failed beside its cases: %s\n", key)
	}
	return b.String()
}

// writeRow writes one row without white space at its end.
func writeRow(b *strings.Builder, cells []string, widths []int) {
	var line strings.Builder
	for i, text := range cells {
		line.WriteString(text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2))
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
