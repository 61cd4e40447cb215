package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"telex/platforms/terminal"
)

// FailedError says that a question has no complete answer. Ask returns a FailedError after it has printed the
// incomplete answer.
type FailedError struct {
	Note string // the line of the answer that gives the reason; may be empty
}

// Error returns the note, or a general text if the note is empty.
func (e *FailedError) Error() string {
	if e.Note == "" {
		return "there is no answer; the log says why"
	}
	return e.Note
}

// The constant only is the id of the input that Ask sends. The id is constant, because Ask sends only one input at a
// time.
const only = "question"

// Ask sends the question in the parameter in, and prints the growing answer to out, as Markdown. Ask prints new text
// only if the new text continues the printed text. If the final answer does not begin with the printed text, Ask writes
// a message to trouble and prints the whole answer again. If ctx ends, Ask asks the hub to stop the answer.
func Ask(ctx context.Context, c *terminal.Client, in terminal.Input, out, trouble io.Writer) error {
	in.ID = only
	if err := c.Ask(in); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Stop() })() // if Stop fails, Next fails too
	p := printer{out: out, source: make(map[string]string)}
	ours := false // the frames belong to this answer, not to the answer to an earlier question
	for {
		f, err := c.Next()
		if err != nil {
			return errors.Join(err, p.end(trouble))
		}
		switch {
		case f.Message != nil:
			if ours = ours || f.Message.Answer == only; ours {
				err = p.take(*f.Message)
			}
		case f.Deleted != nil:
			p.drop(f.Deleted.ID)
		case f.Done != nil && f.Done.Input == only:
			return p.conclude(ctx, f.Done.Failed, trouble)
		}
		if err != nil {
			_ = c.Stop() // nobody can read the rest of the answer, so stop it
			return err
		}
	}
}

// printer prints a growing reply as plain text.
type printer struct {
	out     io.Writer
	order   []string          // ids of the reply's messages
	source  map[string]string // the Markdown of each message, by id
	note    string
	printed string
}

// The method take records the newest state of a message, and prints the text that is new in the reply.
func (p *printer) take(m terminal.Message) error {
	if !slices.Contains(p.order, m.ID) {
		p.order = append(p.order, m.ID)
	}
	p.source[m.ID] = m.Source
	if m.Note != "" {
		p.note = terminal.Clean(m.Note)
	}
	if more, ok := strings.CutPrefix(p.text(), p.printed); ok {
		return p.print(more)
	}
	return nil
}

func (p *printer) drop(id string) {
	p.order = slices.DeleteFunc(p.order, func(s string) bool { return s == id })
}

// The method text returns the whole reply as it is now.
func (p *printer) text() string {
	var b strings.Builder
	for _, id := range p.order {
		b.WriteString(p.source[id])
	}
	return terminal.CleanSource(strings.TrimLeft(b.String(), " \t\r\n"))
}

func (p *printer) print(text string) error {
	if text == "" {
		return nil
	}
	p.printed += text
	if _, err := io.WriteString(p.out, text); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

// The method end prints the part of the reply that is not printed yet, and a line break. If the printed text is not the
// beginning of the reply, the method prints the whole reply again.
func (p *printer) end(trouble io.Writer) error {
	text := p.text()
	more, ok := strings.CutPrefix(text, p.printed)
	if !ok {
		more = ""
	}
	if !ok && strings.TrimRight(text, " \n") != strings.TrimRight(p.printed, " \n") {
		fmt.Fprintln(trouble, "The answer has changed meanwhile; here is the complete answer.")
		more = "\n\n---\n\n" + text
	}
	if all := p.printed + more; all != "" && !strings.HasSuffix(all, "\n") {
		more += "\n"
	}
	return p.print(more)
}

func (p *printer) conclude(ctx context.Context, failed bool, trouble io.Writer) error {
	err := p.end(trouble)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	case failed:
		return &FailedError{Note: p.note}
	}
	return nil
}

// prompt is the text before the person's input on the screen.
const prompt = "> "

// Chat reads the lines of in, one after the other, until in ends. Chat sends each line as a question and prints the
// answer before it reads the next line. Chat skips empty lines. A line that attaches a file is not a question; Chat sends
// the file with the next question.
func Chat(ctx context.Context, c *terminal.Client, in io.Reader, out, trouble io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, terminal.MaxInput)
	var files []terminal.File
	for fmt.Fprint(trouble, prompt); lines.Scan(); fmt.Fprint(trouble, prompt) {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if path, ok := cutAttach(lines.Text()); ok {
			f, err := ReadFile(path, files)
			if err != nil {
				fmt.Fprintln(trouble, terminal.Clean(err.Error()))
				continue
			}
			files = append(files, f)
			fmt.Fprintln(trouble, attached(f))
			continue
		}
		err := Ask(ctx, c, terminal.Input{Text: lines.Text(), Files: files}, out, trouble)
		files = nil
		if failed, ok := errors.AsType[*FailedError](err); ok {
			fmt.Fprintln(trouble, failed)
			continue
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(trouble)
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the terminal's input: %w", err)
	}
	return nil
}
