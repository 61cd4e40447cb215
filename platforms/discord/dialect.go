package discord

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes Discord's Markdown, which the clients read from the text of a message
// (https://support.discord.com/hc/en-us/articles/210298617). They look for the marks with
// regular expressions, the longest match first, and know no words or punctuation as
// CommonMark does. How exactly is not published; this follows what was found by trying
// (https://github.com/LyricLy/parse-discord/blob/main/parse_discord/parse.py).
//
//	Markdown                      becomes
//	**bold**, ###### heading      **bold**; # ## ### stay headings
//	*italic*, _italic_            *italic*
//	~~strike~~                    ~~strike~~
//	`code`, fenced code, table    the same byte for byte, but three backticks with a joiner in between
//	[text](url), ![alt](url)      [text](url) for http and https; else plain text. What a label
//	                              can't hold, such as emoji and brackets, stays outside of it
//	https://example.org           the same, in <...> if something follows that would belong to it
//	> quote                       > quote; a quote in a quote is part of the outer one
//	- item, 1. item               the same; "• item", "1\. item" where Discord would number or nest anew, such as below a
//	                              blank line in a list in a list
//	@everyone, <@1>, <#1>, <t:1>  the same text with a joiner or a backslash in it
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the usual symbols, and asks for the items of lists.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Lists
	return s
}

// Render writes the piece as one string. Mentions in it are broken, but for those in code, so that they
// show nobody as called. That they notify nobody is what allowed_mentions says.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, p)}
}

// Len counts UTF-16 code units. The limit is in "characters"
// (https://docs.discord.com/developers/resources/message#create-message): the server is
// known to count code points, of which there are never more.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// grammar is Discord's Markdown.
type grammar struct{}

// Rules returns that there are three levels of headings, and lists.
func (grammar) Rules() marks.Rules { return marks.Rules{Headings: 3, Lists: true, Language: language} }

var (
	mention  = regexp.MustCompile(`^@(?:everyone|here|[!&]?[0-9])`)
	emoji    = regexp.MustCompile(`^:(?:\w*[A-Za-z]\w*|100|1234):`) // a time, such as 10:30:45, has none
	language = regexp.MustCompile(`^[A-Za-z0-9_+.-]{1,20}$`)
)

// Escape appends a character of text. Nothing that needs it is in a label.
func (grammar) Escape(out []byte, at marks.Place) []byte {
	c := at.Text[at.At]
	if at.Label {
		return append(out, at.Rest()[:at.Size]...)
	}
	escaped := false
	switch c {
	case '\\', '*', '_', '`', '<', '[':
		escaped = true
	case '~', '|': // two of them begin something
		escaped = at.Next() == c || at.Prev() == c
	case '#', '>':
		escaped = at.Start()
	case '-', '+':
		escaped = at.Start() && (at.Next() == 0 || strings.IndexByte(" \t\n#", at.Next()) >= 0)
	case ']':
		if at.Next() == '(' { // would end the label of a link before it, even behind a backslash
			return append(out, "]"+marks.Joiner...)
		}
	case '@':
		if mention.MatchString(at.Rest()) {
			return append(out, "@"+marks.Joiner...)
		}
	case ':':
		if strings.HasPrefix(at.Rest(), "://") { // an address only where Address says so
			return append(out, ":"+marks.Joiner...)
		}
		escaped = emoji.MatchString(at.Rest())
	case '.':
		escaped = at.Ordinal()
	}
	if escaped {
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

// Code appends a character of code, where nothing but the fence means anything to a client. People copy code, so that a
// mention in it stays as it is: every message and every edit has allowed_mentions, by which it notifies nobody.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// What Discord does not count to an address at its end.
const trailing = `.,:;"'])`

// Address finds what Discord takes for an address: all up to white space or "<", whatever
// marks are in it.
func (g grammar) Address(out []byte, text string, i, end int, opens bool) ([]byte, int) {
	if text[i] != 'h' {
		return out, 0
	}
	rest := text[i:end]
	scheme := "http://"
	if !strings.HasPrefix(rest, scheme) {
		if scheme = "https://"; !strings.HasPrefix(rest, scheme) {
			return out, 0
		}
	}
	if n := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '<' || r == '>' }); n >= 0 {
		rest = rest[:n]
	}
	rest = strings.TrimRight(rest, trailing)
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest, scheme))
	if len(rest) < len(scheme)+2 || !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return out, 0
	}
	for j := range len(rest) {
		if rest[j] == '@' && mention.MatchString(rest[j:]) {
			return out, 0
		}
	}
	behind := text[i+len(rest) : end]
	if !g.Fragile(rest) { // else a mark may open before the first character of it
		behind = strings.TrimLeft(behind, trailing)
	}
	if behind == "" && !opens {
		behind = text[end:]
	}
	if next, _ := utf8.DecodeRuneInString(behind); unicode.IsSpace(next) || behind == "" && end == len(text) && !opens {
		return append(out, rest...), len(rest)
	}
	return append(append(append(out, '<'), rest...), '>'), len(rest)
}

// Link returns where a masked link goes. One that shows its own address needs no mask, and
// Discord takes none then.
func (grammar) Link(text string, f markup.Format, _ bool) string {
	to := marks.Destination(f.URL, "http", "https")
	if to == "" || text[f.Start:f.End] == f.URL {
		return ""
	}
	return strings.ReplaceAll(to, "@", "%40")
}

// Label reports whether a character can be in the label of a masked link. There is no
// escaping in it, and one with an emoji, a mention or an address is no link at all
// (https://github.com/LyricLy/parse-discord/blob/main/parse_discord/string.py).
func (grammar) Label(text string, i int, first bool) bool {
	r, n := utf8.DecodeRuneInString(text[i:])
	at := marks.Place{Text: text, At: i, Size: n}
	if first && unicode.IsPunct(r) {
		return false
	}
	switch r {
	case '\\', '*', '`', '<', '>', '[', ']', '@':
		return false
	case '_': // within a word only
		return at.InWord()
	case '~', '|':
		return at.Prev() != byte(r) && at.Next() != byte(r)
	case ':':
		return !strings.HasPrefix(at.Rest(), "://") && !emoji.MatchString(at.Rest())
	case '\u203c', '\u2049', '\u2194', '\u3030', '\u303d', '\ufe0f', '\u20e3': // emoji that are no symbols otherwise, or a part of one
		return false
	case '\u200c', '\u200d': // a part of words in some scripts
		return true
	}
	if next, _ := utf8.DecodeRuneInString(at.Rest()[n:]); next == '\ufe0f' || next == '\u20e3' {
		return false
	}
	if r < utf8.RuneSelf {
		return true
	}
	return !unicode.In(r, unicode.So, unicode.Sk, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp) && (r < 0x25fb || r > 0x25fe)
}

// Fragile reports whether a style around s could end in it: Discord looks for the end of the
// one before it looks for code.
func (grammar) Fragile(s string) bool { return strings.ContainsAny(s, `*~\`) }
