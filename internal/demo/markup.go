package demo

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// dialect converts a platform's markup to HTML.
type dialect struct {
	md     goldmark.Markdown
	before func(string) string // prepares the text before it is rendered; nil: the text stays unchanged
}

// html renders a text as HTML. The result is safe: all tags come from this package and from goldmark, which leaves out
// links with unsafe schemes.
func (d dialect) html(source string) template.HTML {
	if d.before != nil {
		source = d.before(source)
	}
	var out strings.Builder
	if err := d.md.Convert([]byte(source), &out); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(source) + "</p>") //nolint:gosec // escaped
	}
	return template.HTML(out.String()) //nolint:gosec // goldmark escapes
}

// discordMarkdown returns the dialect that is described at https://support.discord.com/hc/en-us/articles/210298617.
func discordMarkdown() dialect {
	m := marks{'*': {"", "em", "strong"}, '_': {"", "em", "u"}, '~': {"", "", "del"}, '|': {"", "", "span"}}
	return dialect{md: newMarkdown(m, parser.NewLinkParser(), parser.NewATXHeadingParser())}
}

// plainMarks returns the delimiters for bold, italic and struck-out text in WhatsApp and in Slack's mrkdwn.
func plainMarks() marks { return marks{'*': {"", "strong"}, '_': {"", "em"}, '~': {"", "del"}} }

// whatsappMarkup returns the dialect that is described at https://faq.whatsapp.com/539178204879377.
func whatsappMarkup() dialect {
	return dialect{md: newMarkdown(plainMarks(), nil, nil), before: withFences}
}

// mrkdwn returns the dialect that is described at https://docs.slack.dev/messaging/formatting-message-text.
func mrkdwn() dialect {
	return dialect{md: newMarkdown(plainMarks(), nil, nil), before: func(s string) string {
		return withFences(slackLink.ReplaceAllString(s, "$1"))
	}}
}

// slackMarkdown returns the dialect that is described at
// https://docs.slack.dev/reference/block-kit/blocks/markdown-block.
func slackMarkdown() dialect {
	return dialect{md: goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))}
}

// slackLink matches a link in mrkdwn. The page shows only the URL of such a link, without its label.
var slackLink = regexp.MustCompile(`<(https?://[^|>]*)(?:\|[^>]*)?>`)

// inlineFence matches three backticks that are followed by text in the same line. On WhatsApp and in Slack's mrkdwn, this text
// is the first line of a code block. In standard Markdown, this text is not part of a code block: it names the language of a
// code block, or is inline code if three more backticks follow it.
var inlineFence = regexp.MustCompile("(?m)^```([^\n`]+?)(```)?$")

// withFences moves three backticks to a line of their own if they precede or follow text. goldmark then recognizes the
// code block.
func withFences(s string) string {
	return inlineFence.ReplaceAllStringFunc(s, func(line string) string {
		inner, closed := strings.CutSuffix(line[3:], "```")
		if closed {
			return "```\n" + inner + "\n```"
		}
		return "```\n" + inner
	})
}

// newMarkdown returns a Markdown parser that recognizes the delimiters m and keeps each line break. If heading is nil,
// the parser recognizes no headings.
func newMarkdown(m marks, link parser.InlineParser, heading parser.BlockParser) goldmark.Markdown {
	blocks := []util.PrioritizedValue{
		util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	}
	inline := []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	}
	if heading != nil {
		blocks = append(blocks, util.Prioritized(heading, 600))
	}
	if link != nil {
		inline = append(inline, util.Prioritized(link, 200))
	}
	for c, tags := range m {
		inline = append(inline, util.Prioritized(&markParser{char: c, tags: tags}, 500))
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inline...))),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(markRenderer{}, 500))),
	)
}

// marks contains the delimiters around formatted text. marks[c][n] is the HTML tag for text that is enclosed by n characters c.
type marks map[byte][]string

// mark is a syntax node: a text between two delimiters. A mark's node kind is the one that goldmark uses for struck-out text,
// so that goldmark lets markRenderer render the mark.
type mark struct {
	extast.Strikethrough

	tag string
}

// markParser parses the delimiters that consist of one certain character.
type markParser struct {
	char byte
	tags []string // tags[n] is the HTML tag for n such characters in a row; empty: they are no delimiter
}

// Trigger implements parser.InlineParser.
func (p *markParser) Trigger() []byte { return []byte{p.char} }

// Parse implements parser.InlineParser.
func (p *markParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	fewest := slices.IndexFunc(p.tags, func(tag string) bool { return tag != "" })
	node := parser.ScanDelimiter(line, before, fewest, p)
	if node == nil {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

// IsDelimiter implements parser.DelimiterProcessor.
func (p *markParser) IsDelimiter(b byte) bool { return b == p.char }

// CanOpenCloser implements parser.DelimiterProcessor.
func (p *markParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements parser.DelimiterProcessor.
func (p *markParser) OnMatch(consumes int) ast.Node {
	m := &mark{}
	if consumes < len(p.tags) {
		m.tag = p.tags[consumes]
	}
	return m
}

// markRenderer renders a mark as HTML.
type markRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (markRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extast.KindStrikethrough, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		m, ok := n.(*mark)
		if !ok || m.tag == "" {
			return ast.WalkContinue, nil
		}
		switch {
		case !entering:
			_, _ = w.WriteString("</" + m.tag + ">") // ignore the error: goldmark returns write errors at the end of rendering
		case m.tag == "span":
			_, _ = w.WriteString(`<span class="spoiler" tabindex="0">`)
		default:
			_, _ = w.WriteString("<" + m.tag + ">")
		}
		return ast.WalkContinue, nil
	})
}
