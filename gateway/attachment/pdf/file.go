package pdf

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
)

// place is the position of an object in the file or in a decoded object stream.
type place struct {
	data []byte
	at   int
}

// file finds the objects of a PDF file.
type file struct {
	*budget
	data      []byte
	places    map[ref]place
	keptBytes int // number of bytes in decoded object streams
	root      any
	encrypted bool

	tables *tables
	fonts  map[ref]*font
	mapped int // number of characters in the tables of the fonts
}

// open finds all objects. If the file contains several versions of an object, the function open uses the last one,
// because programs change a file by appending new versions.
func open(b *budget, data []byte) *file {
	f := &file{budget: b, data: data, places: make(map[ref]place), tables: newTables(), fonts: make(map[ref]*font)}
	type found struct {
		number ref
		at     int
	}
	var all []found
	for at := 0; len(all) < maxObjects; {
		i := bytes.Index(data[at:], []byte("obj"))
		if i < 0 {
			f.spend(len(data) - at)
			break
		}
		f.spend(i + 1)
		at += i + len("obj")
		if number, ok := numberBefore(data[:at-len("obj")]); ok {
			all = append(all, found{number, at})
		}
	}
	for _, o := range all {
		f.places[o.number] = place{data, o.at}
	}
	var catalog any
	for _, o := range all {
		p := place{data, o.at}
		l := lexer{budget: b, data: data, at: o.at}
		if l.skipSpace(); !bytes.HasPrefix(data[l.at:], []byte("<<")) {
			continue
		}
		v := f.parse(p)
		switch d := dictOf(v); d["Type"] {
		case name("ObjStm"):
			if s, ok := v.(stream); ok {
				f.addStream(s)
			}
		case name("XRef"):
			f.trailer(d)
		case name("Catalog"):
			catalog = o.number
		}
	}
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + len("trailer")
		l := lexer{budget: b, data: data, at: at}
		if v, ok := l.next(); ok {
			f.trailer(dictOf(v))
		}
	}
	if dictOf(f.resolve(f.root))["Pages"] == nil {
		f.root = catalog
	}
	return f
}

// numberBefore returns the number of the object whose keyword obj follows data.
func numberBefore(data []byte) (ref, bool) {
	const longest = 24
	tail := data[max(0, len(data)-longest):]
	rest := bytes.TrimRightFunc(tail, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	rest, generation := cutDigits(rest)
	number := bytes.TrimRightFunc(rest, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
	_, digits := cutDigits(number)
	if generation == "" || len(number) == len(rest) {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return ref(n), err == nil
}

// cutDigits splits the digits off the end of data.
func cutDigits(data []byte) (rest []byte, digits string) {
	rest = bytes.TrimRight(data, "0123456789")
	return rest, string(data[len(rest):])
}

// trailer reads a trailer dictionary. Later trailers replace earlier ones.
func (f *file) trailer(d dict) {
	if d["Root"] != nil {
		f.root = d["Root"]
	}
	f.encrypted = f.encrypted || d["Encrypt"] != nil
}

// addStream finds the objects in an object stream.
func (f *file) addStream(s stream) {
	data := f.decode(s)
	if f.keptBytes += len(data); f.keptBytes > maxKept {
		return
	}
	count, first := int(numberOf(f.resolve(s.dict["N"]))), int(numberOf(f.resolve(s.dict["First"])))
	l := lexer{budget: f.budget, data: data}
	for range min(count, maxObjects-len(f.places)) {
		number, ok := l.next()
		offset, ok2 := l.next()
		if !ok || !ok2 {
			return
		}
		if at := first + int(numberOf(offset)); at >= 0 && at < len(data) {
			f.places[ref(numberOf(number))] = place{data, at}
		}
	}
}

// parse reads the object at a place.
func (f *file) parse(p place) any {
	l := lexer{budget: f.budget, data: p.data, at: p.at}
	v, _ := l.next()
	d, ok := v.(dict)
	if !ok {
		if n, isNumber := v.(float64); isNumber { // the number may be the beginning of a reference to another object
			l.next()
			if k, _ := l.next(); k == keyword("R") {
				return ref(n)
			}
		}
		return v
	}
	if k, _ := l.next(); k != keyword("stream") {
		return d
	}
	if l.at < len(l.data) && l.data[l.at] == '\r' {
		l.at++
	}
	if l.at < len(l.data) && l.data[l.at] == '\n' {
		l.at++
	}
	return stream{d, f.content(d, l.data[min(l.at, len(l.data)):])}
}

// content returns the content of the stream that begins at the start of rest. content checks the length that the file
// states, because that length may be wrong.
func (f *file) content(d dict, rest []byte) []byte {
	if length, ok := f.length(d["Length"]); ok && length >= 0 && length <= len(rest) {
		after := bytes.TrimLeft(rest[length:min(len(rest), length+16)], "\r\n\t ")
		if bytes.HasPrefix(after, []byte("endstream")) || bytes.HasPrefix(after, []byte("endst")) {
			return rest[:length]
		}
	}
	i := bytes.Index(rest, []byte("endstream"))
	if i < 0 {
		i = len(rest)
	}
	f.spend(i)
	return rest[:i]
}

// length returns a stream's length, which may be a reference to another object.
func (f *file) length(v any) (int, bool) {
	if r, ok := v.(ref); ok {
		p, ok := f.places[r]
		if !ok {
			return 0, false
		}
		l := lexer{budget: f.budget, data: p.data, at: p.at}
		v, _ = l.next()
	}
	n, ok := v.(float64)
	return int(n), ok
}

// resolve returns the object that v refers to, or v itself.
func (f *file) resolve(v any) any {
	for range maxRefs {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		f.spend(1)
		p, ok := f.places[r]
		if !ok {
			return nil
		}
		v = f.parse(p)
	}
	return nil
}

// dictOf returns v as a dictionary, or the dictionary of the stream v.
func dictOf(v any) dict {
	switch v := v.(type) {
	case dict:
		return v
	case stream:
		return v.dict
	}
	return nil
}

func numberOf(v any) float64 {
	n, _ := v.(float64)
	return min(max(n, -1e9), 1e9)
}

// page is a page's dictionary and its inherited attributes.
type page struct {
	dict      dict
	resources any
}

// pages returns the pages in the order in which a reader shows them.
func (f *file) pages() []page {
	var out []page
	seen := make(map[ref]bool)
	var walk func(v, resources any, depth int)
	walk = func(v, resources any, depth int) {
		if r, ok := v.(ref); ok {
			if seen[r] {
				return
			}
			seen[r] = true
		}
		d := dictOf(f.resolve(v))
		if d == nil || depth > maxDepth || len(out) >= maxTree {
			return
		}
		if d["Resources"] != nil {
			resources = d["Resources"]
		}
		kids, ok := f.resolve(d["Kids"]).(array)
		if !ok {
			out = append(out, page{d, resources})
			return
		}
		for _, kid := range kids {
			walk(kid, resources, depth+1)
		}
	}
	walk(dictOf(f.resolve(f.root))["Pages"], nil, 0)
	if len(out) > 0 {
		return out
	}
	// The page tree is damaged, so return the pages in the order of their object numbers.
	var numbers []ref
	for number := range f.places {
		numbers = append(numbers, number)
	}
	slices.SortFunc(numbers, func(a, b ref) int { return cmp.Compare(a, b) })
	for _, number := range numbers {
		if d, ok := f.resolve(number).(dict); ok && d["Type"] == name("Page") && len(out) < maxTree {
			out = append(out, page{d, d["Resources"]})
		}
	}
	return out
}
