package discord

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
)

// Dialect writes Discord's Markdown, which the clients parse
// (https://support.discord.com/hc/en-us/articles/210298617). The clients find Markdown delimiters with regular
// expressions, and try the longest match first. Discord's clients do not follow CommonMark's rules for words and
// punctuation, and Discord does not publish the clients' exact rules. Dialect follows the results of experiments
// (https://github.com/LyricLy/parse-discord/blob/main/parse_discord/parse.py).
//
//	Markdown                      becomes
//	**bold**, ###### heading      **bold**; # ## ### stay headings
//	*italic*, _italic_            *italic*
//	~~strike~~                    ~~strike~~
//	`code`, fenced code, table    the same byte for byte, but with a joiner between three backticks
//	[text](url), ![alt](url)      [text](url) for http and https; else plain text. Characters that a label can't
//	                              contain, such as emoji and brackets, stay outside of the label
//	https://example.org           the same, in <...> if Discord would read the following text as a part of the URL
//	> quote                       > quote; a quote in a quote becomes a part of the outer quote
//	- item, 1. item               the same; "• item", "1\. item" where Discord would start a new list, such as after a
//	                              blank line in a nested list
//	@everyone, <@1>, <#1>, <t:1>  the same text with a joiner or a backslash in it
type Dialect struct{}

var _ markup.Dialect = Dialect{}

// Shape returns the symbols of markup.Plain for bullets, check boxes and horizontal rules. Shape also enables lists
// in Discord's own syntax.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Extras = markup.Lists
	return s
}

// Render returns a piece of an answer as one string of Markdown. Outside code, Render changes mentions so that nobody
// appears to be mentioned. The field allowed_mentions of each call prevents notifications, whatever the text contains.
func (Dialect) Render(p markup.Piece) markup.Rendered {
	return markup.Rendered{Text: marks.Write(grammar{}, p)}
}

// Len counts UTF-16 code units. Discord states its limit in "characters"
// (https://docs.discord.com/developers/resources/message#create-message), which are probably code points. Counting
// UTF-16 code units is safe, because a text never has fewer code units than code points.
func (Dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

// grammar describes Discord's Markdown.
type grammar struct{}

// Rules returns the features of Discord's Markdown: three levels of headings, and lists.
func (grammar) Rules() marks.Rules { return marks.Rules{Headings: 3, Lists: true, Language: language} }

var (
	mention  = regexp.MustCompile(`^@(?:everyone|here|[!&]?[0-9])`)
	emoji    = regexp.MustCompile(`^:(?:\w*[A-Za-z]\w*|100|1234):`) // the pattern does not match a time, such as 10:30:45
	language = regexp.MustCompile(`^[A-Za-z0-9_+.-]{1,20}$`)
)

// Escape appends a character of the text to out, and puts a backslash before the character if Discord would interpret
// the character as markup. Escape does not change the characters of link labels.
func (grammar) Escape(out []byte, at marks.Place) []byte {
	c := at.Text[at.At]
	if at.Label {
		return append(out, at.Rest()[:at.Size]...)
	}
	escaped := false
	switch c {
	case '\\', '*', '_', '`', '<', '[':
		escaped = true
	case '~', '|': // two of these characters in a row begin a style, such as ~~
		escaped = at.Next() == c || at.Prev() == c
	case '#', '>':
		escaped = at.Start()
	case '-', '+':
		escaped = at.Start() && (at.Next() == 0 || strings.IndexByte(" \t\n#", at.Next()) >= 0)
	case ']':
		if at.Next() == '(' { // "](" would end the label of a preceding link, even after a backslash
			return append(out, "]"+marks.Joiner...)
		}
	case '@':
		if mention.MatchString(at.Rest()) {
			return append(out, "@"+marks.Joiner...)
		}
	case ':':
		if strings.HasPrefix(at.Rest(), "://") { // a URL that Discord may turn into a link is written by Address, not here
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

// Code appends a character of code unchanged, because inside code only the closing fence has a special meaning. Code
// does not change mentions, because people copy code. Mentions in code notify nobody, because every message and edit
// has allowed_mentions.
func (grammar) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

// trailingPunctuation lists the characters that Discord excludes from the end of a URL.
const trailingPunctuation = `.,:;"'])`

// Address finds the text that Discord would turn into a link because the text looks like a URL. A URL extends to the
// next white space or "<", and may include characters such as * and _. Address writes the URL in <...> if Discord would
// otherwise treat the text after the URL as a part of the URL.
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
	rest = strings.TrimRight(rest, trailingPunctuation)
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
	if !g.Fragile(rest) { // a URL with a fragile character needs <...> even before punctuation
		behind = strings.TrimLeft(behind, trailingPunctuation)
	}
	if behind == "" && !opens {
		behind = text[end:]
	}
	if next, _ := utf8.DecodeRuneInString(behind); unicode.IsSpace(next) || behind == "" && end == len(text) && !opens {
		return append(out, rest...), len(rest)
	}
	return append(append(append(out, '<'), rest...), '>'), len(rest)
}

// Link returns the URL of a masked link, which is a link with a label. If the label is the URL itself, Link returns
// "", because Discord does not accept a URL as the label of a link.
func (grammar) Link(text string, f markup.Format, _ bool) string {
	to := marks.Destination(f.URL, "http", "https")
	if to == "" || text[f.Start:f.End] == f.URL {
		return ""
	}
	return strings.ReplaceAll(to, "@", "%40")
}

// Label reports whether the label of a masked link can contain a character. Labels can't contain escapes, and Discord
// does not make a link if the label contains an emoji, a mention or a URL
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
	case '_': // a label may contain _ only inside a word
		return at.InWord()
	case '~', '|':
		return at.Prev() != byte(r) && at.Next() != byte(r)
	case ':':
		return !strings.HasPrefix(at.Rest(), "://") && !emoji.MatchString(at.Rest())
	case '\u203c', '\u2049', '\u2194', '\u3030', '\u303d', '\ufe0f', '\u20e3': // emoji outside the symbol category, or parts of emoji
		return false
	case '\u200c', '\u200d': // the zero-width joiner and non-joiner, which are parts of words in some scripts
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

// Fragile reports whether a style around s, such as bold, could end inside s. A style can end even inside code,
// because Discord looks for the end of a style before it looks for code.
func (grammar) Fragile(s string) bool { return strings.ContainsAny(s, `*~\`) }
