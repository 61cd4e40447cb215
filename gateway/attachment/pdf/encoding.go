package pdf

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// tables are the encodings of one-byte fonts (ISO 32000-1, annex D) and the names of glyphs.
type tables struct {
	win, mac, standard [256]rune
	glyphs             map[string]rune
}

func newTables() *tables {
	return &tables{tableOf(charmap.Windows1252), tableOf(charmap.Macintosh), standard(), names()}
}

func tableOf(m *charmap.Charmap) (t [256]rune) {
	for code := ' '; code < 256; code++ {
		t[code] = m.DecodeByte(byte(code))
	}
	return t
}

// standard returns Adobe's standard encoding.
func standard() (t [256]rune) {
	for code := rune(' '); code < 0x7f; code++ {
		t[code] = code
	}
	t['\''], t['`'] = '’', '‘'
	for first, row := range map[int]string{
		0xa1: "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ", 0xb1: "–†‡·", 0xb6: "¶•‚„”»…‰", 0xbf: "¿", 0xc1: "`´ˆ˜¯˘˙¨", 0xca: "˚¸", 0xcd: "˝˛ˇ—",
		0xe1: "Æ", 0xe3: "ª", 0xe8: "ŁØŒº", 0xf1: "æ", 0xf5: "ı", 0xf8: "łøœß",
	} {
		for i, r := range []rune(row) {
			t[first+i] = r
		}
	}
	return t
}

func (t *tables) encoding(n name, other *[256]rune) *[256]rune {
	switch n {
	case "WinAnsiEncoding":
		return &t.win
	case "MacRomanEncoding":
		return &t.mac
	case "StandardEncoding":
		return &t.standard
	}
	return other
}

// Names of glyphs, from space to tilde, from the no-break space to ÿ, and some more
// (https://github.com/adobe-type-tools/agl-aglfn).
const (
	asciiNames = "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma " +
		"hyphen period slash zero one two three four five six seven eight nine colon semicolon less equal greater question at " +
		"A B C D E F G H I J K L M N O P Q R S T U V W X Y Z bracketleft backslash bracketright asciicircum underscore grave " +
		"a b c d e f g h i j k l m n o p q r s t u v w x y z braceleft bar braceright asciitilde"
	latinNames = "nbspace exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft logicalnot " +
		"sfthyphen registered macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla " +
		"onesuperior ordmasculine guillemotright onequarter onehalf threequarters questiondown Agrave Aacute Acircumflex Atilde " +
		"Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex Idieresis Eth Ntilde Ograve " +
		"Oacute Ocircumflex Otilde Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls agrave " +
		"aacute acircumflex atilde adieresis aring ae ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex " +
		"idieresis eth ntilde ograve oacute ocircumflex otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute " +
		"thorn ydieresis"
	moreNames = "quoteleft‘ quoteright’ quotedblleft“ quotedblright” quotesinglbase‚ quotedblbase„ endash– emdash— bullet• ellipsis… " +
		"fiﬁ flﬂ ffﬀ ffiﬃ fflﬄ f_iﬁ f_lﬂ f_fﬀ f_f_iﬃ f_f_lﬄ dagger† daggerdbl‡ Euro€ trademark™ minus− fraction⁄ perthousand‰ " +
		"guilsinglleft‹ guilsinglright› dotlessiı Lslash\u0141 lslashł OEŒ oeœ ScaronŠ scaronš ZcaronŽ zcaronž Ydieresis\u0178 " +
		"circumflexˆ tilde˜ breve˘ dotaccent˙ ring˚ hungarumlaut˝ ogonek˛ caronˇ lessequal≤ greaterequal≥ notequal≠ infinity∞ " +
		"alphaα betaβ gammaγ deltaδ epsilonε lambdaλ piπ sigmaσ tauτ phiφ omegaω DeltaΔ OmegaΩ Sigma\u03a3 arrowright→ arrowleft←"
)

func names() map[string]rune {
	all := make(map[string]rune)
	for first, list := range map[rune]string{' ': asciiNames, 0xa0: latinNames} {
		for i, s := range strings.Fields(list) {
			all[s] = first + rune(i)
		}
	}
	for s := range strings.FieldsSeq(moreNames) {
		r := []rune(s)
		all[string(r[:len(r)-1])] = r[len(r)-1]
	}
	return all
}

// runeNamed returns the character that a glyph name stands for, or 0 if the name is unknown.
func (t *tables) runeNamed(s string) rune {
	s, _, _ = strings.Cut(s, ".") // "a.alt" is an alternative form of a
	if r, ok := t.glyphs[s]; ok {
		return r
	}
	for _, prefix := range []string{"uni", "u"} {
		if digits, ok := strings.CutPrefix(s, prefix); ok && len(digits) >= 4 {
			if v, err := strconv.ParseUint(digits[:min(len(digits), 6)], 16, 21); err == nil {
				return rune(v)
			}
		}
	}
	return 0
}

// standardWidths returns the approximate widths of a font that every PDF reader has.
func standardWidths(base string) func(int) float64 {
	if strings.Contains(base, "Courier") {
		return func(int) float64 { return 0.6 }
	}
	scale := 0.001
	if strings.Contains(base, "Times") {
		scale = 0.0009
	}
	// The widths from space to tilde of Helvetica, in 1/1000 (https://github.com/adobe-type-tools/font-metrics). The
	// widths are needed because many files use Helvetica and do not contain its widths.
	helvetica := [...]int{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556,
		278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,
		611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833,
		556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	return func(code int) float64 {
		if i := code - ' '; i >= 0 && i < len(helvetica) {
			return float64(helvetica[i]) * scale
		}
		return 556 * scale
	}
}
