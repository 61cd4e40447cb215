package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// said returns the output of `go test -json` for one platform. Each element of cases has the form "name=outcome".
func said(platform, test string, cases ...string) string {
	var b strings.Builder
	for i, c := range cases {
		name, outcome, _ := strings.Cut(c, "=")
		at := fmt.Sprintf(`"Package":"telex/platforms/%s","Test":"%s/case_%d"`, platform, test, i)
		fmt.Fprintf(&b, `{"Action":"run",%s}`+"\n", at)
		fmt.Fprintf(&b, `{"Action":"attr",%s,"Key":"case","Value":"%s"}`+"\n", at, name)
		fmt.Fprintf(&b, `{"Action":"output",%s,"Output":"    x_test.go:1: said by %s\n"}`+"\n", at, name)
		if lacks, is := strings.CutPrefix(outcome, "no "); is {
			fmt.Fprintf(&b, `{"Action":"attr",%s,"Key":"lacks","Value":"%s"}`+"\n", at, lacks)
			outcome = "pass"
		}
		if outcome != "" {
			fmt.Fprintf(&b, `{"Action":"%s",%s}`+"\n", outcome, at)
		}
	}
	return b.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		good           bool
	}{
		{
			"all well", said("telegram", "TestConformance", "a (D1)=pass", "a long name=no Stream") +
				said("slack", "TestConformance", "a (D1)=pass", "a long name=pass") +
				said("slack", "TestConformanceEvents", "a (D1)=no Threads", "a long name=pass"),
			`case         slack  slack events  telegram
-----------  -----  ------------  ---------
a (D1)       ok     no Threads    ok
a long name  ok     ok            no Stream

2 cases, 3 platforms: 4 ok, 2 not theirs, 0 bad
`, true,
		},
		{
			"what went wrong is said first", said("telegram", "TestConformance", "a=fail", "b=pass", "c=skip", "d=") +
				`{"Action":"output","Package":"telex/platforms/telegram","Test":"TestConformance","Output":"--- FAIL\n"}` + "\n" +
				`{"Action":"fail","Package":"telex/platforms/telegram","Test":"TestConformance"}` + "\n" +
				`{"Action":"fail","Package":"telex/platforms/telegram"}` + "\n" +
				said("discord", "TestConformance", "a=pass", "b=no Find") +
				`{"Action":"output","Package":"telex/platforms/discord","Output":"panic: x\n"}` + "\n" +
				`{"Action":"fail","Package":"telex/platforms/discord"}` + "\n" +
				"# a linker says something\n",
			`--- telegram: a
    x_test.go:1: said by a
--- telegram: c
    x_test.go:1: said by c
--- telegram: d
    x_test.go:1: said by d
--- telex/platforms/discord
panic: x
--- beside the tests
# a linker says something
case  discord  telegram
----  -------  --------
a     ok       FAILED
b     no Find  ok
c     -        SKIPPED
d     -        DIED

4 cases, 2 platforms: 2 ok, 1 not theirs, 5 bad
failed beside its cases: telex/platforms/discord
`, false,
		},
		{"a package that does not build", said("telegram", "TestConformance", "a=pass") +
			`{"ImportPath":"telex/platforms/slack","Action":"build-output","Output":"undefined: x\n"}` + "\n" +
			`{"Action":"fail","Package":"telex/platforms/slack"}` + "\n", `--- beside the tests
undefined: x
case  telegram
----  --------
a     ok

1 cases, 1 platforms: 1 ok, 0 not theirs, 0 bad
failed beside its cases: telex/platforms/slack
`, false},
		{"nothing at all", "", "case\n----\n\n0 cases, 0 platforms: 0 ok, 0 not theirs, 0 bad\n", false},
		{
			"a package without the suite", `{"Action":"skip","Package":"telex/platforms/terminal"}` + "\n" + said("x", "TestConformance", "a=pass"),
			"case  x\n----  --\na     ok\n\n1 cases, 1 platforms: 1 ok, 0 not theirs, 0 bad\n", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got table
			if err := got.read(strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			if text := got.complaints() + got.String(); text != tt.want || got.good() != tt.good {
				t.Errorf("good: %t, want %t\n got:\n%s\nwant:\n%s", got.good(), tt.good, text, tt.want)
			}
		})
	}
}

// Printing the table must not fail or panic, whatever output the tests have written.
func FuzzTable(f *testing.F) {
	f.Add(said("telegram", "TestConformance", "a=pass", "b=no Find", "c="))
	f.Add(`{"Action":"attr","Key":"case"}` + "\n{}\nx\n" + `{"Action":"fail"}`)
	f.Fuzz(func(t *testing.T, in string) {
		var got table
		if err := got.read(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		_ = got.complaints() + got.String()
		got.good()
	})
}

// The function draw must fail if go test fails, if a platform lacks a case, or if there is no case at all.
func TestDraw(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		good         bool
	}{
		{"well", "cat <<'E'\n" + said("x", "TestConformance", "a=pass") + "E", true},
		{"a case fails", "cat <<'E'\n" + said("x", "TestConformance", "a=fail") + "E\nexit 1", false},
		{"go test fails alone", "cat <<'E'\n" + said("x", "TestConformance", "a=pass") + "E\nexit 2", false},
		{"a case is missing", "cat <<'E'\n" + said("x", "TestConformance", "a=pass", "b=pass") + said("y", "TestConformance", "a=pass") + "E", false},
		{"no case", "true", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.WithoutCancel(t.Context())
			err := draw(ctx, exec.CommandContext(ctx, "sh", "-c", tt.script), t.Output())
			if (err == nil) != tt.good {
				t.Errorf("error %v, want one: %t", err, !tt.good)
			}
		})
	}
}
