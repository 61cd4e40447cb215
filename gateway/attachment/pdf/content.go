package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// matrix maps a point (x, y) to (a*x+c*y+e, b*x+d*y+f).
type matrix [6]float64

// times returns the matrix that applies m first and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// state is the part of the graphics state that positions texts.
type state struct {
	matrix             matrix
	font               *font
	size, stretch      float64
	char, word, rise   float64
	lineHeight         float64
	textMatrix, inLine matrix
}

// writer interprets a page and writes its text to out.
type writer struct {
	*file
	out   *strings.Builder
	limit int

	state
	saved []state
	// The position where the last character ended, in the units of the page, and the character's direction and size.
	x, y, dirX, dirY, height float64
	drawn                    bool // the page already has text
	short                    bool // the current text is short; see shortText
	unknownChars             int  // number of characters for which the file does not say which text they stand for
	accent                   rune // an accent that was drawn before and may belong to the next character; 0: none
}

// The minimum distances between two characters that count as a space, a new line and a new paragraph, relative to the
// size of the text.
const (
	spaceFrom     = 0.17
	lineFrom      = 0.5
	paragraphFrom = 1.9
)

// shortText is the maximum length, in bytes, of a text whose character spacing may stand for a space (see glyph).
const shortText = 3

// draw interprets the content of a page or a form.
func (w *writer) draw(data []byte, resources dict, depth int) {
	l := lexer{budget: w.budget, data: data}
	var operands array
	for {
		v, ok := l.next()
		if !ok || w.out.Len() >= w.limit {
			return
		}
		operator, ok := v.(keyword)
		if !ok {
			if len(operands) < maxStack {
				operands = append(operands, v)
			}
			continue
		}
		switch operator {
		case "ID":
			l.skipImage()
		case "Do":
			w.form(operands, resources, depth)
		case "Tf":
			w.setFont(operands, resources)
		default:
			w.operate(operator, operands)
		}
		operands = operands[:0]
	}
}

// skipImage skips the data of a picture inside the content.
func (l *lexer) skipImage() {
	for ; !l.end(); l.at++ {
		l.spend(1)
		if l.at+3 < len(l.data) && isSpace(l.data[l.at]) && string(l.data[l.at+1:l.at+3]) == "EI" && isSpace(l.data[l.at+3]) {
			l.at += 3
			return
		}
	}
}

// form draws a form XObject, which is content that several pages may share.
func (w *writer) form(operands array, resources dict, depth int) {
	if len(operands) == 0 || depth >= maxRefs {
		return
	}
	n, _ := operands[0].(name)
	s, ok := w.resolve(dictOf(w.resolve(resources["XObject"]))[n]).(stream)
	if !ok || w.resolve(s.dict["Subtype"]) != name("Form") {
		return
	}
	before := w.state
	if m, ok := matrixOf(w.resolve(s.dict["Matrix"])); ok {
		w.matrix = m.times(w.matrix)
	}
	if own := dictOf(w.resolve(s.dict["Resources"])); own != nil {
		resources = own
	}
	saved := w.saved
	w.saved = nil
	w.draw(w.decode(s), resources, depth+1)
	w.state, w.saved = before, saved
}

func (w *writer) setFont(operands array, resources dict) {
	if len(operands) < 2 {
		return
	}
	n, _ := operands[0].(name)
	w.size = numberOf(operands[1])
	if v, ok := dictOf(w.resolve(resources["Font"]))[n]; ok {
		w.state.font = w.file.font(v)
	}
}

func matrixOf(v any) (m matrix, ok bool) {
	list, _ := v.(array)
	if len(list) < len(m) {
		return m, false
	}
	for i := range m {
		m[i] = numberOf(list[i])
	}
	return m, true
}

// operate executes an operator of the page's content. Missing operands count as 0.
func (w *writer) operate(operator keyword, operands array) {
	arg := func(i int) float64 {
		if i < len(operands) {
			return numberOf(operands[i])
		}
		return 0
	}
	text := func() {
		if len(operands) > 0 {
			w.show(operands[len(operands)-1])
		}
	}
	switch operator {
	case "q":
		if len(w.saved) < maxStack {
			w.saved = append(w.saved, w.state)
		}
	case "Q":
		if n := len(w.saved); n > 0 {
			w.state, w.saved = w.saved[n-1], w.saved[:n-1]
		}
	case "cm":
		if m, ok := matrixOf(operands); ok {
			w.matrix = m.times(w.matrix)
		}
	case "BT":
		w.place(matrix{1, 0, 0, 1, 0, 0})
	case "Tm":
		if m, ok := matrixOf(operands); ok {
			w.place(m)
		}
	case "Td":
		w.move(arg(0), arg(1))
	case "TD":
		w.lineHeight = -arg(1)
		w.move(arg(0), arg(1))
	case "T*":
		w.move(0, -w.lineHeight)
	case "TL":
		w.lineHeight = arg(0)
	case "Tc":
		w.char = arg(0)
	case "Tw":
		w.word = arg(0)
	case "Tz":
		w.stretch = arg(0) / 100
	case "Ts":
		w.rise = arg(0)
	case "Tj", "TJ":
		text()
	case "'":
		w.move(0, -w.lineHeight)
		text()
	case `"`:
		w.word, w.char = arg(0), arg(1)
		w.move(0, -w.lineHeight)
		text()
	}
}

func (w *writer) place(m matrix) { w.textMatrix, w.inLine = m, m }

func (w *writer) move(x, y float64) { w.place(matrix{1, 0, 0, 1, x, y}.times(w.textMatrix)) }

// show draws a text, or a list of texts and distances.
func (w *writer) show(v any) {
	switch v := v.(type) {
	case string:
		if w.state.font != nil {
			w.short = len(v) <= shortText
			w.state.font.glyphs(v, w.glyph)
		}
	case array:
		for _, v := range v {
			if n, ok := v.(float64); ok {
				w.advance(-n / 1000 * w.size * w.stretch)
			} else if s, ok := v.(string); ok {
				w.show(s)
			}
		}
	}
}

func (w *writer) advance(by float64) { w.inLine = matrix{1, 0, 0, 1, by, 0}.times(w.inLine) }

// glyph draws one character. glyph takes into account how Ghostscript writes text. Ghostscript writes the space between
// two words as the character spacing of a short text. In Ghostscript's output, a space with a negative word spacing only
// corrects the distance between two letters.
func (w *writer) glyph(g glyph) {
	w.spend(1)
	drawn, by := g.width*w.size, g.width*w.size+w.char
	if g.space {
		by += w.word
		drawn = by
	}
	if !w.short {
		drawn = by
	}
	const narrow = 0.1
	switch {
	case g.text == "":
		w.unknownChars++
	case g.space && by*w.size < narrow*w.size*w.size && g.width > narrow:
	default:
		w.write(g.text)
		end := matrix{1, 0, 0, 1, drawn * w.stretch, 0}.times(w.inLine).times(w.matrix)
		w.x, w.y = end[4], end[5]
	}
	w.advance(by * w.stretch)
}

// write writes a character. If the character is far from the previous one, the method write first writes a space or a
// line break.
func (w *writer) write(text string) {
	at := w.inLine.times(w.matrix)
	dirX, dirY := at[0], at[1]
	if length := math.Hypot(dirX, dirY); length > 0 {
		dirX, dirY = dirX/length, dirY/length
	}
	height := math.Abs(w.size) * math.Hypot(at[2], at[3])
	dx, dy := at[4]-w.x, at[5]-w.y
	text = readable(text)
	if w.accent != 0 && dx*w.dirX+dy*w.dirY < overlap*height {
		text = accented(text, combining(w.accent))
		w.accent = 0
	} else if w.writeAccent(); w.drawn {
		w.separate(dx, dy, max(height, min(w.height, 4*height)))
	}
	if r, size := utf8.DecodeRuneInString(text); size == len(text) && !unicode.IsLetter(r) && combining(r) != 0 {
		w.accent = r
	} else {
		w.add(text)
	}
	w.dirX, w.dirY, w.height, w.drawn = dirX, dirY, height, true
}

// add writes a text, unless the text would exceed the output limit.
func (w *writer) add(text string) {
	switch {
	case text == "":
	case w.out.Len()+len(text) <= w.limit:
		w.out.WriteString(text)
	default:
		w.limit = w.out.Len() // the output is full
	}
}

// writeAccent writes an accent that was drawn without a letter.
func (w *writer) writeAccent() {
	if w.accent != 0 {
		w.add(string(w.accent))
		w.accent = 0
	}
}

// overlap is the distance from the end of an accent to the beginning of its letter, relative to the size of the text.
const overlap = -0.1

// combining returns the combining form of an accent, or 0 if the character is not an accent. combining is needed
// because TeX draws an accent before its letter if the font has no accented letters.
func combining(accent rune) rune {
	const alone, combined = "`´ˆ^˜~¯˘˙¨˚˝ˇ¸", "\u0300\u0301\u0302\u0302\u0303\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"
	i := slices.Index([]rune(alone), accent)
	if i < 0 {
		return 0
	}
	return []rune(combined)[i]
}

// accented returns a letter with an accent.
func accented(letter string, mark rune) string {
	switch letter {
	case "ı": // the i under an accent has no dot
		letter = "i"
	case "ȷ":
		letter = "j"
	}
	return norm.NFC.String(letter + string(mark))
}

// separate writes the separator for the distance between two characters.
func (w *writer) separate(dx, dy, height float64) {
	along := dx*w.dirX + dy*w.dirY
	across := math.Abs(dy*w.dirX - dx*w.dirY)
	const backwards = -1.5 // relative to the text's size; smaller steps back are caused by kerning and accents
	switch {
	case across > paragraphFrom*height:
		w.separator("\n\n")
	case across > lineFrom*height:
		w.separator("\n")
	case along > spaceFrom*height, along < backwards*height:
		w.separator(" ")
	}
}

// separator writes a space, a line break or an empty line, unless the text already ends with the same separator or a
// stronger one.
func (w *writer) separator(s string) {
	text := w.out.String()
	switch {
	case text == "", strings.HasSuffix(text, s), strings.HasSuffix(text, "\n") && s == " ", w.out.Len()+len(s) > w.limit:
		return
	case strings.HasSuffix(text, "\n"):
		s = s[1:]
	}
	w.out.WriteString(s)
}

// readable converts a character to searchable text: it replaces ligatures by letters and removes control characters.
func readable(text string) string {
	if len(text) == 1 && text[0] >= ' ' && text[0] < 0x7f {
		return text
	}
	for i, letters := range [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"} {
		text = strings.ReplaceAll(text, string(rune(0xfb00+i)), letters)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || r == '\u00ad' {
			return -1
		}
		if r == '\u00a0' {
			return ' '
		}
		return r
	}, text)
}
