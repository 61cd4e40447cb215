package ui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"telex/platforms/terminal"
)

// attachCommand is the command that attaches a file. The client itself reads the file, with the permissions of the
// person who runs the client.
const attachCommand = "/attach"

const attachHelp = attachCommand + " PATH attaches a file to your next message (here in the terminal only)."

// cutAttach returns the path in an /attach command. If line is not an /attach command, ok is false.
func cutAttach(line string) (path string, ok bool) {
	word, path, _ := strings.Cut(strings.TrimSpace(line), " ")
	if word != attachCommand {
		return "", false
	}
	path = strings.TrimSpace(path)
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	return path, true
}

// ReadFile reads a file that a person attaches to a message. The parameter others contains the files that are already
// attached to the same message. ReadFile limits the total size of these files and the new file. The person sees the
// text of ReadFile's error.
func ReadFile(path string, others []terminal.File) (terminal.File, error) {
	if path == "" {
		return terminal.File{}, errors.New("usage: " + attachCommand + " PATH")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	info, err := os.Stat(path) // check the kind of file before opening it, because opening a named pipe would block
	if err != nil {
		return terminal.File{}, fmt.Errorf("not attached: %w", err)
	}
	if !info.Mode().IsRegular() {
		return terminal.File{}, fmt.Errorf("not attached: %s is not a regular file", path)
	}
	left := terminal.MaxFiles
	for _, o := range others {
		left -= len(o.Data)
	}
	f, err := os.Open(path)
	if err != nil {
		return terminal.File{}, fmt.Errorf("not attached: %w", err)
	}
	defer func() { _ = f.Close() }() // an error of Close does not matter after reading
	data, err := io.ReadAll(io.LimitReader(f, int64(left)+1))
	switch {
	case err != nil:
		return terminal.File{}, fmt.Errorf("not attached: %w", err)
	case len(data) > left:
		return terminal.File{}, fmt.Errorf("not attached: the files of a message may have %d MB together", terminal.MaxFiles>>20)
	}
	return terminal.File{Name: filepath.Base(path), Data: data}, nil
}

// ReadFiles reads all files that a person attaches to one question.
func ReadFiles(paths []string) (files []terminal.File, err error) {
	for _, path := range paths {
		f, err := ReadFile(path, files)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// The function attached returns the line that tells the person that a file is attached.
func attached(f terminal.File) string {
	size := fmt.Sprintf("%d bytes", len(f.Data))
	if n := len(f.Data) >> 10; n > 0 {
		size = fmt.Sprintf("%d KB", n)
	}
	return fmt.Sprintf("Attached %s (%s). It goes with your next message.", terminal.Clean(f.Name), size)
}

// The method attach attaches the file at path to the person's next message.
func (m *model) attach(path string) {
	switch f, err := ReadFile(path, m.files); {
	case !m.takesFiles:
		m.notice = "the daemon is older than this program and accepts no files: restart it"
	case err != nil:
		m.notice = terminal.Clean(err.Error())
	default:
		m.files = append(m.files, f)
		m.editor.take()
		m.note(attached(f))
	}
}

// The method note shows a line of the client itself, not of the person or the bot.
func (m *model) note(text string) {
	m.entries = append(m.entries, entry{text: text, lines: wrap(text, m.width)})
}
