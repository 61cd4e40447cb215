package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"telex/agent"
)

// readable reports whether a media type is text.
func readable(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") && mediaType != "image/svg+xml" {
		return true
	}
	return slices.Contains([]string{
		"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/x-javascript", "application/ecmascript", "application/x-ndjson", "application/jsonl",
		"application/sql", "application/x-sh",
	}, mediaType)
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// text returns the response's text. If the response is HTML, text returns the main content as Markdown.
func (a answer) text(ctx context.Context, u *url.URL) (string, error) {
	body := a.body
	contentType := a.mediaType
	if a.charset != "" {
		contentType += "; charset=" + a.charset
	}
	if encoding, name, _ := charset.DetermineEncoding(body, contentType); name != "utf-8" && (a.charset != "" || isHTML(a.mediaType)) {
		decoded, err := encoding.NewDecoder().Bytes(body)
		if err != nil {
			return "", fmt.Errorf("its character set %s: %w", name, err)
		}
		body = decoded
	}
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	if isHTML(a.mediaType) {
		return markdown(ctx, body, u)
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "", errors.New("it claims to be text, and is binary")
	}
	return visibleText(string(body)), nil
}

// These limits protect telex against malicious pages. If the HTML tree of a page exceeds the limits, the tree is cut before
// other code walks it.
const (
	maxNodes = 60_000
	maxDepth = 200
	// parseLimit is how long the parser may take. The parser needs quadratic time for some malicious pages.
	parseLimit = 3 * time.Second
)

// minArticle is the minimum length, in bytes, of the article that the package readability finds in a page. A shorter article
// is probably the wrong part of the page, so the whole page is used instead.
const minArticle = 200

// embedded matches a link in Markdown to a picture whose data is inside the page itself.
var embedded = regexp.MustCompile(`\(data:[^)\s]*\)`)

// contextReader is a reader that fails when its context ends.
type contextReader func([]byte) (int, error)

func (t contextReader) Read(p []byte) (int, error) { return t(p) }

// parse returns the HTML tree of a page.
func parse(ctx context.Context, body []byte) (*html.Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, parseLimit, errors.New("it takes too long"))
	defer cancel()
	var all io.Reader = bytes.NewReader(body)
	doc, err := html.Parse(contextReader(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return all.Read(p)
	}))
	if err != nil {
		return nil, fmt.Errorf("its HTML can't be read: %w", err)
	}
	return doc, nil
}

// markdown returns the main content of a page.
func markdown(ctx context.Context, body []byte, u *url.URL) (string, error) {
	doc, err := parse(ctx, body)
	if err != nil {
		return "", err
	}
	prune(doc)
	parser := readability.NewParser()
	article, err := parser.ParseDocument(doc, u) // ParseDocument works on a copy of doc
	text := ""
	if err == nil && article.Node != nil {
		if text, err = write(article.Node, u); err != nil {
			return "", err
		}
	}
	if len(text) < minArticle {
		whole, err := write(doc, u)
		if err != nil {
			return "", err
		}
		if len(whole) > len(text) {
			text = whole
		}
	}
	if title := agent.OneLine(article.Title()); title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + title + "\n\n" + text
	}
	return visibleText(text), nil
}

// write renders a tree as Markdown.
func write(node *html.Node, u *url.URL) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := conv.ConvertNode(node, converter.WithDomain(u.Scheme+"://"+u.Host))
	if err != nil {
		return "", fmt.Errorf("write it as Markdown: %w", err)
	}
	return embedded.ReplaceAllString(strings.TrimSpace(string(text)), "()"), nil
}

// prune removes invisible elements from a tree, and everything that exceeds maxDepth or maxNodes.
func prune(doc *html.Node) {
	nodes := 0
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		for child := n.FirstChild; child != nil; {
			next := child.NextSibling
			nodes++
			switch {
			case nodes > maxNodes, depth > maxDepth, child.Type == html.CommentNode, hidden(child):
				n.RemoveChild(child)
			default:
				// Remove colspan and rowspan, because the renderer would repeat a table cell as often as they say.
				child.Attr = slices.DeleteFunc(child.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
				walk(child, depth+1)
			}
			child = next
		}
	}
	walk(doc, 0)
}

// hidden reports whether browsers do not show an element.
func hidden(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.Data {
	case "script":
		// Keep scripts of the type application/ld+json, because the package readability reads the title and the author from
		// them.
		return !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "type" && a.Val == "application/ld+json" })
	case "style", "template", "svg", "canvas", "iframe", "object", "embed":
		return true
	}
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" && n.Data != "body" })
}

// visibleText returns valid UTF-8 without control characters, and without characters that hide or reverse text.
func visibleText(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}
