package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	// parserError matches those error messages of yaml.v3 in which the line number is too small by 1. Such messages come from the
	// parser of yaml.v3, which counts lines from 0. All other messages come from the scanner of yaml.v3, which counts lines from
	// 1.
	parserError   = regexp.MustCompile(`^did not find expected (key|node content|',' or|'-' indicator|<)`)
	syntaxLine    = regexp.MustCompile(`line (\d+): `)
	unknownAnchor = regexp.MustCompile(`(?s)unknown anchor '(.*)' referenced`)
)

// checkText rejects input that is not text. checkText is called before the YAML parser, whose errors about such input
// contain no line number.
func (d *decoder) checkText(data []byte) bool {
	if len(data) > maxFile {
		d.failAt(position{1, 1}, "", "the file is longer than %d bytes", maxFile)
		return false
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			d.failAt(position{line, column}, "save the file as UTF-8", "a byte that is not UTF-8")
			return false
		case r == '\n':
			line, column = line+1, 0
		case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85:
			d.failAt(position{line, column}, "remove it", "a control character")
			return false
		}
		column++
		i += size
	}
	return true
}

// syntax reports an error of the YAML parser. An error of the YAML parser contains a line number, but no column. The only text
// of the file that an error of the YAML parser quotes is the name of an anchor, which may be an unquoted secret.
func (d *decoder) syntax(data []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	lines := bytes.Split(data, []byte("\n"))
	line := 1
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		text = strings.Replace(text, m[0], "", 1)
		if n, err := strconv.Atoi(m[1]); err == nil {
			if parserError.MatchString(text) {
				n++
			}
			line = min(max(n, 1), len(lines))
		}
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		d.failAt(positionOfText(data, "*"+m[1]), "quote a value that begins with *", "an alias to an anchor that doesn't exist")
		return
	}
	// The tab is in the line that the parser reports, or in the line before or after it.
	for _, at := range []int{line, line - 1, line + 1} {
		if at < 1 || at > len(lines) {
			continue
		}
		if column, ok := tabIndent(lines[at-1]); ok {
			d.failAt(position{at, column}, "indent with spaces", "a tab in the indentation")
			return
		}
	}
	column := 1 + len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " "))
	d.failAt(position{line, column}, "check indentation, quotes and brackets here and just before", "not valid YAML: %s", text)
}

// tabIndent returns the column of the first tab in the indentation of a line.
func tabIndent(line []byte) (int, bool) {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	i := bytes.IndexByte(indent, '\t')
	return i + 1, i >= 0
}

// positionOfText returns the position of the first occurrence of a text in the file.
func positionOfText(data []byte, text string) position {
	before, _, ok := bytes.Cut(data, []byte(text))
	if !ok {
		return position{1, 1}
	}
	line := bytes.Count(before, []byte("\n")) + 1
	return position{line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1}
}
