package pdf

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// font converts the codes of a text into characters and widths.
type font struct {
	wide     bool              // each code has two bytes
	utf16    bool              // codes are UTF-16
	mapped   map[int]string    // text of each code, from the font's ToUnicode table
	encoding *[256]rune        // characters of the one-byte codes that the map mapped does not contain
	named    map[int]rune      // characters that the font itself gives to some codes; they replace those of encoding
	widths   map[int]float64   // widths of codes, in units of the text's size
	missing  float64           // the width of codes that are not in widths
	standard func(int) float64 // the widths of a font that the file does not contain
}

// glyph is one character of a text that the file draws.
type glyph struct {
	text  string // the characters that the glyph stands for; "": unknown
	width float64
	space bool // the code is the one-byte code 32, a space, to which word spacing applies
}

// font parses a font.
func (f *file) font(v any) *font {
	r, isRef := v.(ref)
	if known := f.fonts[r]; isRef && known != nil {
		return known
	}
	out := &font{}
	if isRef && len(f.fonts) < maxFonts {
		f.fonts[r] = out
	}
	d := dictOf(f.resolve(v))
	if table, ok := f.resolve(d["ToUnicode"]).(stream); ok {
		out.mapped = make(map[int]string)
		f.readTable(f.decode(table), out.mapped)
	}
	if d["Subtype"] == name("Type0") {
		f.composite(out, d)
	} else {
		f.simple(out, d)
	}
	return out
}

// composite parses a font with two-byte codes.
func (f *file) composite(out *font, d dict) {
	out.wide = true
	encoding, _ := f.resolve(d["Encoding"]).(name)
	out.utf16 = strings.Contains(string(encoding), "UCS2") || strings.Contains(string(encoding), "UTF16")
	list, _ := f.resolve(d["DescendantFonts"]).(array)
	if len(list) == 0 {
		return
	}
	cid := dictOf(f.resolve(list[0]))
	out.missing = 1
	if w, ok := f.resolve(cid["DW"]).(float64); ok {
		out.missing = w / 1000
	}
	out.widths = make(map[int]float64)
	w, _ := f.resolve(cid["W"]).(array)
	for i := 0; i+1 < len(w); {
		first := int(numberOf(f.resolve(w[i])))
		if each, ok := f.resolve(w[i+1]).(array); ok {
			for j, v := range each {
				f.setWidth(out, first+j, numberOf(f.resolve(v))/1000)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		last, width := int(numberOf(f.resolve(w[i+1]))), numberOf(f.resolve(w[i+2]))/1000
		for code := first; code <= min(last, first+0xffff) && f.mapped < maxMapped; code++ {
			f.setWidth(out, code, width)
		}
		i += 3
	}
}

func (f *file) setWidth(out *font, code int, width float64) {
	f.spend(1)
	if f.mapped < maxMapped {
		f.mapped++
		out.widths[code] = width
	}
}

// simple parses a font with one-byte codes.
func (f *file) simple(out *font, d dict) {
	out.encoding = &f.tables.standard
	base := string(nameOf(f.resolve(d["BaseFont"])))
	scale := 0.001
	if d["Subtype"] == name("Type3") {
		if m, ok := f.resolve(d["FontMatrix"]).(array); ok && len(m) > 0 {
			scale = numberOf(f.resolve(m[0]))
		}
	} else if d["Subtype"] == name("TrueType") {
		out.encoding = &f.tables.win
	}
	switch e := f.resolve(d["Encoding"]).(type) {
	case name:
		out.encoding = f.tables.encoding(e, out.encoding)
	case dict:
		out.encoding = f.tables.encoding(nameOf(f.resolve(e["BaseEncoding"])), out.encoding)
		out.named = make(map[int]rune)
		code := 0
		list, _ := f.resolve(e["Differences"]).(array)
		for _, v := range list {
			switch v := f.resolve(v).(type) {
			case float64:
				code = int(numberOf(v))
			case name:
				if code >= 0 && code < 256 {
					out.named[code] = f.tables.runeNamed(string(v))
				}
				code++
			}
		}
	}
	list, ok := f.resolve(d["Widths"]).(array)
	if !ok {
		out.standard = standardWidths(base)
		return
	}
	out.widths = make(map[int]float64)
	first := int(numberOf(f.resolve(d["FirstChar"])))
	for i, v := range list[:min(len(list), 256)] {
		out.widths[first+i] = numberOf(f.resolve(v)) * scale
	}
}

func nameOf(v any) name {
	n, _ := v.(name)
	return n
}

// glyphs calls the parameter show for each character of a text.
func (t *font) glyphs(text string, show func(glyph)) {
	if !t.wide {
		for i := range len(text) {
			code := int(text[i])
			g := glyph{text: t.character(code), width: t.width(code), space: code == ' '}
			show(g)
		}
		return
	}
	for i := 0; i+1 < len(text); i += 2 {
		code := int(text[i])<<8 | int(text[i+1])
		g := glyph{text: t.mapped[code], width: t.width(code)}
		if g.text == "" && t.utf16 {
			g.text = string(rune(code))
			if utf16.IsSurrogate(rune(code)) && i+3 < len(text) {
				g.text = string(utf16.DecodeRune(rune(code), rune(int(text[i+2])<<8|int(text[i+3]))))
				i += 2
			}
		}
		show(g)
	}
}

// character returns the character of a one-byte code, or "" if the character is unknown.
func (t *font) character(code int) string {
	if s, ok := t.mapped[code]; ok {
		return s
	}
	r, ok := t.named[code]
	if !ok && t.encoding != nil {
		r = t.encoding[code]
	}
	if r == 0 {
		return ""
	}
	return string(r)
}

func (t *font) width(code int) float64 {
	if w, ok := t.widths[code]; ok {
		return w
	}
	if t.standard != nil {
		return t.standard(code)
	}
	return t.missing
}

// readTable reads a ToUnicode CMap, which maps codes to characters.
func (f *file) readTable(data []byte, into map[int]string) {
	l := lexer{budget: f.budget, data: data}
	var operands array
	for {
		v, ok := l.next()
		if !ok {
			return
		}
		switch v {
		case keyword("beginbfchar"), keyword("beginbfrange"), keyword("begincodespacerange"):
			operands = nil
		case keyword("endbfchar"):
			for i := 0; i+1 < len(operands); i += 2 {
				f.setCharacter(into, codeOf(operands[i]), textOf(operands[i+1]))
			}
		case keyword("endbfrange"):
			for i := 0; i+2 < len(operands); i += 3 {
				f.setRange(into, codeOf(operands[i]), codeOf(operands[i+1]), operands[i+2])
			}
		default:
			if len(operands) < maxElements {
				operands = append(operands, v)
			}
		}
	}
}

func (f *file) setCharacter(into map[int]string, code int, text string) {
	f.spend(1)
	const longest = 32 // maximum length of the text of one code, in bytes; a ligature has only a few
	if f.mapped < maxMapped && code >= 0 && len(text) <= longest {
		f.mapped++
		into[code] = text
	}
}

// setRange sets the characters of the codes from first to last. v is a list of characters, or the first of consecutive
// characters.
func (f *file) setRange(into map[int]string, first, last int, v any) {
	if list, ok := v.(array); ok {
		for i, v := range list {
			if first+i <= last {
				f.setCharacter(into, first+i, textOf(v))
			}
		}
		return
	}
	text := textOf(v)
	tail, size := utf8.DecodeLastRuneInString(text)
	if size == 0 || first < 0 {
		return
	}
	for code := first; code <= min(last, first+0xffff) && f.mapped < maxMapped; code++ {
		f.setCharacter(into, code, text[:len(text)-size]+string(tail+rune(code-first)))
	}
}

// codeOf converts a string of bytes to a number; -1 if v is not a short string.
func codeOf(v any) int {
	s, ok := v.(string)
	if !ok || len(s) == 0 || len(s) > 4 {
		return -1
	}
	code := 0
	for i := range len(s) {
		code = code<<8 | int(s[i])
	}
	return code
}

// textOf decodes UTF-16.
func textOf(v any) string {
	s, _ := v.(string)
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	var units []uint16
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}
