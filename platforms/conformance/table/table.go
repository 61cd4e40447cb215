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

// attrCase and attrLacks are the names of the attributes with which the suite reports the name of a case and a missing
// ability. The two constants are copies of constants of package conformance, which a program can't import because
// package conformance depends on package testing.
const (
	attrCase  = "case"
	attrLacks = "lacks"
)

// suite is the prefix of the names of all tests that run the suite. The rest of a test's name distinguishes several
// tests in one package.
const suite = "TestConformance"

// event is a line of `go test -json`; see `go doc cmd/test2json`.
type event struct {
	Action, Package, Test, Output string
	Key, Value                    string // set if Action is "attr"
}

// These are the states of a cell.
const (
	ok      = "ok"
	failed  = "FAILED"
	skipped = "SKIPPED" // counts as a failure, because the suite itself never skips a case
	started = "DIED"    // the state of a case until the output says that the case has ended
	missing = "-"
)

// cell is the result of one case on one platform.
type cell struct {
	name   string
	state  string
	lacks  string
	output strings.Builder
}

// String returns the cell as shown in the table.
func (c *cell) String() string {
	if c.state == ok && c.lacks != "" {
		return "no " + c.lacks
	}
	return c.state
}

// column contains the results of one run of the suite.
type column struct {
	name  string
	cells []*cell
}

// cellOf returns the cell of the case with the given name, or nil if the column has no such case.
func (c *column) cellOf(name string) *cell {
	for _, cell := range c.cells {
		if cell.name == name {
			return cell
		}
	}
	return nil
}

// table collects the results of the tests.
type table struct {
	columns []*column
	tests   map[string]*cell // the cell of each test; the key consists of package and test name
	broken  []string         // failed packages, and failed tests that are not cases
	output  map[string]*strings.Builder
}

// read reads the output of `go test -json`. Some lines of the output are not events, such as messages of the linker.
// read also collects such lines, and complaints returns them.
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
			t.addEvent(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a line: %w", err)
		}
	}
}

// The method say records a line of output. The parameter who is the test or package that wrote the line; if who is
// empty, the writer is unknown.
func (t *table) say(who, text string) {
	if t.output[who] == nil {
		t.output[who] = &strings.Builder{}
	}
	t.output[who].WriteString(text)
}

// addEvent adds the information of an event to the table.
func (t *table) addEvent(e event) {
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
		t.recordOther(key, e)
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

// recordOther handles events about packages, and about tests that are not cases.
func (t *table) recordOther(key string, e event) {
	switch e.Action {
	case "output":
		t.say(key, e.Output)
	case "build-output": // a build-output event does not contain the name of a test
		t.say("", e.Output)
	case "fail", "build-fail":
		t.broken = append(t.broken, key)
	}
}

// column returns the column to which a case's test belongs. The name of the column is the name of the platform, with
// a suffix if a platform runs the suite in several ways.
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

// rows returns the names of all cases. The cases of the column with the most cases come first, in the order of that
// column.
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

// good reports whether there is at least one case and all cases passed on every platform.
func (t *table) good() bool {
	rows := t.rows()
	return len(rows) > 0 && len(t.broken) == 0 && !slices.ContainsFunc(t.columns, func(c *column) bool {
		return len(c.cells) != len(rows) || slices.ContainsFunc(c.cells, func(c *cell) bool { return c.state != ok })
	})
}

// otherFailures returns the packages that failed although no case failed, for example because of a build error or a
// crash.
func (t *table) otherFailures() []string {
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

// complaints returns the output of failed tests, and output that belongs to no test.
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
	for _, key := range t.otherFailures() {
		if text := t.output[key+" "]; text != nil {
			complain(key, text.String())
		}
	}
	if text := t.output[""]; text != nil {
		complain("beside the tests", text.String())
	}
	return b.String()
}

// String returns the table, followed by a line with the totals.
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
			if cell := c.cellOf(name); cell != nil {
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
	for _, key := range t.otherFailures() {
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
