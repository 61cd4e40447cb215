package pdf

import (
	"bytes"
	"math"
	"strconv"
)

// The types of objects, besides nil, bool, float64 and string.
type (
	name    string
	keyword string
	dict    map[name]any
	array   []any
	ref     int // the number of an object; generations are ignored
	stream  struct {
		dict
		raw []byte
	}
)

// budget limits the work on one file. If the work exceeds the limit or the context ends, spend panics with a value of
// type stop, which [Read] recovers.
type budget struct {
	ctxErr  func() error // the Err method of the context
	left    int
	checked int
}

// stop is the panic value that ends the reading of a file early. The field err contains the reason.
type stop struct{ err error }

const checkEvery = 1 << 16 // steps between two checks of the context

func (b *budget) spend(n int) {
	b.left -= n
	if b.checked += n; b.checked >= checkEvery {
		b.checked = 0
		if err := b.ctxErr(); err != nil {
			panic(stop{err})
		}
	}
	if b.left < 0 {
		panic(stop{nil})
	}
}

// lexer reads objects and operators from data.
type lexer struct {
	*budget
	data  []byte
	at    int
	depth int
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

func (l *lexer) end() bool { return l.at >= len(l.data) }

func (l *lexer) skipSpace() {
	for start := l.at; ; l.at++ {
		switch {
		case l.end():
		case isSpace(l.data[l.at]):
			continue
		case l.data[l.at] == '%':
			for !l.end() && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
			continue
		}
		l.spend(l.at - start + 1)
		return
	}
}

// next returns the next object or keyword. A closing bracket counts as a keyword. ok is false at the end of the data.
func (l *lexer) next() (v any, ok bool) {
	l.skipSpace()
	if l.end() {
		return nil, false
	}
	switch c := l.data[l.at]; {
	case c == '(':
		return l.literal(), true
	case c == '/':
		l.at++
		return l.name(), true
	case c == '<' && l.at+1 < len(l.data) && l.data[l.at+1] == '<':
		l.at += 2
		return l.dict(), true
	case c == '<':
		return l.hex(), true
	case c == '[':
		l.at++
		return l.array(), true
	case c == '>' && l.at+1 < len(l.data) && l.data[l.at+1] == '>':
		l.at += 2
		return keyword(">>"), true
	case isDelimiter(c):
		l.at++
		return keyword(c), true
	}
	return l.word(), true
}

// word reads a number or a keyword.
func (l *lexer) word() any {
	start := l.at
	for !l.end() && !isSpace(l.data[l.at]) && !isDelimiter(l.data[l.at]) {
		l.at++
	}
	l.spend(l.at - start)
	const longest = 64
	word := string(l.data[start:min(l.at, start+longest)])
	if c := word[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if f, err := strconv.ParseFloat(word, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
		return 0.0
	}
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return keyword(word)
}

func (l *lexer) name() name {
	var b []byte
	for ; !l.end() && !isSpace(l.data[l.at]) && !isDelimiter(l.data[l.at]); l.at++ {
		l.spend(1)
		c := l.data[l.at]
		if c == '#' && l.at+2 < len(l.data) {
			if v, err := strconv.ParseUint(string(l.data[l.at+1:l.at+3]), 16, 8); err == nil {
				c = byte(v)
				l.at += 2
			}
		}
		b = append(b, c)
	}
	return name(b)
}

func (l *lexer) hex() string {
	var b []byte
	digits, value := 0, 0
	for l.at++; !l.end() && l.data[l.at] != '>'; l.at++ {
		l.spend(1)
		v, err := strconv.ParseUint(string(l.data[l.at]), 16, 8)
		if err != nil {
			continue
		}
		value = value<<4 | int(v)
		if digits++; digits == 2 {
			b, digits, value = append(b, byte(value)), 0, 0
		}
	}
	l.at = min(l.at+1, len(l.data))
	if digits == 1 {
		b = append(b, byte(value<<4))
	}
	return string(b)
}

// literal reads a string in parentheses.
func (l *lexer) literal() string {
	var b []byte
	open := 0
	for ; !l.end(); l.at++ {
		l.spend(1)
		switch c := l.data[l.at]; c {
		case '(':
			if open++; open > 1 {
				b = append(b, c)
			}
		case ')':
			if open--; open == 0 {
				l.at++
				return string(b)
			}
			b = append(b, c)
		case '\\':
			b = l.escaped(b)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// escaped reads an escape sequence, and leaves the lexer at the last byte of the sequence.
func (l *lexer) escaped(b []byte) []byte {
	if l.at++; l.end() {
		return b
	}
	c := l.data[l.at]
	if i := bytes.IndexByte([]byte("nrtbf"), c); i >= 0 {
		return append(b, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\r':
		if l.at+1 < len(l.data) && l.data[l.at+1] == '\n' {
			l.at++
		}
		return b
	case c == '\n':
		return b
	case c < '0' || c > '7':
		return append(b, c)
	}
	value := int(c - '0')
	for range 2 {
		if l.at+1 < len(l.data) && l.data[l.at+1] >= '0' && l.data[l.at+1] <= '7' {
			l.at++
			value = value<<3 | int(l.data[l.at]-'0')
		}
	}
	return append(b, byte(value))
}

// nested reads the objects inside an array or a dictionary, and passes each one to the function read, until that function
// returns false. If objects are nested deeper than maxDepth, the method nested skips the rest of the data.
func (l *lexer) nested(read func(v any) bool) {
	l.depth++
	defer func() { l.depth-- }()
	if l.depth > maxDepth {
		l.at = len(l.data)
		return
	}
	for {
		v, ok := l.next()
		if !ok || !read(v) {
			return
		}
	}
}

// array reads an array after its opening bracket. array converts the three elements of a reference, such as "1 0 R", to a ref.
func (l *lexer) array() array {
	var a array
	l.nested(func(v any) bool {
		switch {
		case v == keyword("]"), v == keyword(">>"), v == keyword("endobj"), v == keyword("stream"):
			return false
		case v == keyword("R"):
			a = reference(a)
		case len(a) < maxElements:
			a = append(a, v)
		}
		return true
	})
	return a
}

// reference replaces the two numbers at the end of a list by a reference to the object with the first number.
func reference(a array) array {
	if n := len(a); n >= 2 {
		if number, ok := a[n-2].(float64); ok && number >= 0 && number < math.MaxInt32 {
			return append(a[:n-2], ref(number))
		}
	}
	return a
}

// dict reads a dictionary after its opening brackets.
func (l *lexer) dict() dict {
	d := make(dict)
	var key name
	var value array
	put := func() {
		if key != "" && len(value) > 0 && len(d) < maxElements {
			d[key] = value[0]
		}
	}
	l.nested(func(v any) bool {
		if k, ok := v.(name); ok && (key == "" || len(value) > 0) {
			put()
			key, value = k, nil
			return true
		}
		switch v {
		case keyword(">>"), keyword("endobj"), keyword("stream"):
			return false
		case keyword("R"):
			value = reference(value)
		default:
			if len(value) < maxStack {
				value = append(value, v)
			}
		}
		return true
	})
	put()
	return d
}
