package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/terminal"
)

// Output says where and how a command writes: its results to Results, as JSON for scripts or as text for people, and
// all other lines to Remarks.
type Output struct {
	Results, Remarks io.Writer
	JSON             bool
}

// json writes v as JSON. json escapes control characters, so that a terminal can show the output safely.
func (o Output) json(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range b.String() {
		if c := string(r); terminal.Clean(c) == c {
			safe.WriteString(c)
		} else { // the character is in the Basic Multilingual Plane, so four hexadecimal digits are enough
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	_, err := io.WriteString(o.Results, safe.String())
	return err
}

// table writes rows as aligned columns.
func (o Output) table(rows ...[]string) error {
	t := tabwriter.NewWriter(o.Results, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// oneLine returns an untrusted text as one line without control characters.
func oneLine(s string) string { return strings.Join(strings.Fields(terminal.Clean(s)), " ") }

// ListPairing writes the pairing requests and the people whose codes were approved.
func ListPairing(ctx context.Context, env config.Env, o Output) error {
	return operateReadOnly(ctx, env, func(do operations) error {
		p, err := do.pairing(ctx)
		if err != nil {
			return err
		}
		if o.JSON {
			return o.json(p)
		}
		return writePairing(o, p, time.Now())
	})
}

func writePairing(o Output, p Pairing, now time.Time) error {
	if len(p.Waiting)+len(p.Admitted) == 0 {
		_, err := fmt.Fprintln(o.Remarks, "Nobody has a code, and nobody got access by one.")
		return err
	}
	waiting := [][]string{{"CODE", "WAITING", "NAME", "AGE"}}
	for _, w := range p.Waiting {
		waiting = append(waiting, []string{w.Code, w.Person, w.Name, max(0, now.Sub(w.At)).Truncate(time.Minute).String()})
	}
	admitted := [][]string{{"LET IN", "NAME", "BY", "SINCE"}}
	for _, a := range p.Admitted {
		admitted = append(admitted, []string{a.Person, a.Name, a.By, localTime(a.At)})
	}
	switch {
	case len(p.Admitted) == 0:
		return o.table(waiting...)
	case len(p.Waiting) == 0:
		return o.table(admitted...)
	}
	return errors.Join(o.table(waiting...), o.line(""), o.table(admitted...))
}

// line writes one line of results.
func (o Output) line(format string, args ...any) error {
	_, err := fmt.Fprintf(o.Results, format+"\n", args...)
	return err
}

// localTime formats a time in the local time zone.
func localTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// ApprovePairing approves a pairing code. The approval admits the person to whom the bot has sent the code.
func ApprovePairing(ctx context.Context, env config.Env, o Output, code string) error {
	return operate(ctx, env, func(do operations) error {
		a, err := do.approve(ctx, code)
		if err != nil {
			return err
		}
		name := ""
		if n := oneLine(a.Name); n != "" {
			name = " (" + n + ")"
		}
		return o.line("%s%s now has access.", oneLine(a.Person), name)
	})
}

// RevokePairing revokes the admission of a person.
func RevokePairing(ctx context.Context, env config.Env, o Output, p chat.Person) error {
	return operate(ctx, env, func(do operations) error {
		if err := do.revoke(ctx, p); err != nil {
			return err
		}
		return o.line("%s no longer has access.", oneLine(p.String()))
	})
}
