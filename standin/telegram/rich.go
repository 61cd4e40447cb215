package telegram

import (
	"bytes"
	"encoding/json"
	"strings"

	"telex/standin/rig"
)

// Limits of a rich message. Nested blocks, list items and table rows count as blocks. Source:
// https://core.telegram.org/bots/api#rich-message-limits
const (
	maxRichText    = 32768 // UTF-16 units of all texts together
	maxRichBlocks  = 500
	maxRichDepth   = 16
	maxRichColumns = 20
)

// RichBlock is a block of a rich message.
// Source: https://core.telegram.org/bots/api#inputrichblock
type RichBlock struct {
	Type       string       `json:"type"`
	Text       *RichText    `json:"text,omitempty"`
	Size       int          `json:"size,omitempty"` // level of a heading: 1 to 6
	Language   string       `json:"language,omitempty"`
	Blocks     []RichBlock  `json:"blocks,omitempty"`
	Items      []RichItem   `json:"items,omitempty"`
	Cells      [][]RichCell `json:"cells,omitempty"`
	Bordered   bool         `json:"is_bordered,omitempty"`
	Striped    bool         `json:"is_striped,omitempty"`
	Summary    *RichText    `json:"summary,omitempty"`
	Open       bool         `json:"is_open,omitempty"`
	Expression string       `json:"expression,omitempty"`
}

// RichItem is an item of a list.
type RichItem struct {
	Blocks   []RichBlock `json:"blocks"`
	Checkbox bool        `json:"has_checkbox,omitempty"`
	Checked  bool        `json:"is_checked,omitempty"`
}

// RichCell is a cell of a table.
type RichCell struct {
	Text   *RichText `json:"text,omitempty"`
	Header bool      `json:"is_header,omitempty"`
	Align  string    `json:"align"`
	VAlign string    `json:"valign"`
}

// RichText is a formatted text: a string, a list of texts, or a text with a format.
type RichText struct {
	Plain string
	List  []RichText
	Type  string // the format; empty: no format
	URL   string
	Text  *RichText // the formatted text

	Expression string // the source of a formula, which has no Text
}

type wireRichText struct {
	Type       string    `json:"type"`
	URL        string    `json:"url,omitempty"`
	Text       *RichText `json:"text,omitempty"`
	Expression string    `json:"expression,omitempty"`
}

// UnmarshalJSON decodes a string, a list of texts, or a text with a format.
func (t *RichText) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); data[0] {
	case '"':
		return json.Unmarshal(data, &t.Plain)
	case '[':
		return json.Unmarshal(data, &t.List)
	}
	var w wireRichText
	err := json.Unmarshal(data, &w)
	t.Type, t.URL, t.Text, t.Expression = w.Type, w.URL, w.Text, w.Expression
	return err
}

// MarshalJSON encodes t in the same form from which UnmarshalJSON decodes it.
func (t RichText) MarshalJSON() ([]byte, error) {
	switch {
	case t.Type != "":
		return json.Marshal(wireRichText{t.Type, t.URL, t.Text, t.Expression})
	case t.List != nil:
		return json.Marshal(t.List)
	}
	return json.Marshal(t.Plain)
}

// richContent reads the parameter rich_message. richContent supports only blocks, because the documentation of the two
// other forms is not exact enough for a strict stand-in.
func (s *Server) richContent(r *request) ([]RichBlock, Version) {
	var in struct {
		Blocks   []RichBlock `json:"blocks"`
		HTML     string      `json:"html"`
		Markdown string      `json:"markdown"`
		Skip     bool        `json:"skip_entity_detection"`
	}
	unreadable := badRequest("can't parse InputRichMessage JSON object")
	rig.RefuseIf(!r.object("rich_message", &in, unreadable), badRequest("rich message must be non-empty"))
	badRequestIf(in.HTML != "" || in.Markdown != "", "this stand-in reads only the blocks of a rich message")
	c := richCount{draft: r.call.Method == "sendRichMessageDraft"}
	c.blocks(in.Blocks, 1)
	badRequestIf(c.units > maxRichText, "RICH_MESSAGE_TEXT_TOO_LONG")
	badRequestIf(c.count > maxRichBlocks, "RICH_MESSAGE_BLOCKS_TOO_MANY")
	f := fixText(plainBlocks(in.Blocks), nil)
	badRequestIf(f.text == "", "message text is empty")
	v := Version{At: r.now, Method: r.call.Method, Text: f.text, Rich: in.Blocks, LinkPreviewOff: true} // rich messages have no previews
	if !in.Skip {
		v.Detected = detect(f.text, nil)
	}
	return in.Blocks, v
}

// richCount validates and counts the blocks of a message.
type richCount struct {
	units, count int
	draft        bool
}

func (c *richCount) blocks(list []RichBlock, depth int) {
	badRequestIf(depth > maxRichDepth, "RICH_MESSAGE_DEPTH_TOO_LARGE")
	for i := range list {
		b := &list[i]
		c.count++
		switch b.Type {
		case "paragraph", "pre", "footer":
			badRequestIf(b.Text == nil, "can't parse rich block: text is missing")
		case "heading":
			badRequestIf(b.Text == nil || b.Size < 1 || b.Size > 6, "can't parse rich block: invalid heading")
		case "thinking": // https://core.telegram.org/bots/api#richblockthinking
			badRequestIf(!c.draft, "can't parse rich block: thinking is shown in drafts only")
			badRequestIf(b.Text == nil, "can't parse rich block: text is missing")
		case "divider", "blockquote":
		case "mathematical_expression":
			badRequestIf(b.Expression == "", "can't parse rich block: expression is missing")
		case "details":
			badRequestIf(b.Summary == nil, "can't parse rich block: summary is missing")
			badRequestIf(len(b.Blocks) == 0, "can't parse rich block: details must be non-empty")
		case "list":
			badRequestIf(len(b.Items) == 0, "can't parse rich block: list must be non-empty")
		case "table":
			c.table(b.Cells, depth)
		default:
			panic(badRequest("can't parse rich block: unsupported type"))
		}
		c.text(b.Text, depth+1)
		c.text(b.Summary, depth+1)
		c.units += textLength(b.Expression)
		c.blocks(b.Blocks, depth+1)
		for _, item := range b.Items {
			badRequestIf(len(item.Blocks) == 0, "can't parse rich block: list item must be non-empty")
			c.count++
			c.blocks(item.Blocks, depth+1)
		}
	}
}

func (c *richCount) table(rows [][]RichCell, depth int) {
	badRequestIf(len(rows) == 0 || len(rows[0]) == 0, "can't parse rich block: table must be non-empty")
	badRequestIf(len(rows[0]) > maxRichColumns, "RICH_MESSAGE_TABLE_COLS_TOO_MANY")
	for _, row := range rows {
		c.count++
		badRequestIf(len(row) != len(rows[0]), "can't parse rich block: rows must have the same number of cells")
		for _, cell := range row {
			badRequestIf(!strings.Contains(" left center right ", " "+cell.Align+" ") || !strings.Contains(" top middle bottom ", " "+cell.VAlign+" "),
				"can't parse rich block: invalid alignment of a cell")
			c.text(cell.Text, depth+1)
		}
	}
}

func (c *richCount) text(t *RichText, depth int) {
	if t == nil {
		return
	}
	badRequestIf(depth > maxRichDepth, "RICH_MESSAGE_DEPTH_TOO_LARGE")
	c.units += textLength(t.Plain)
	for i := range t.List {
		c.text(&t.List[i], depth)
	}
	switch t.Type {
	case "":
		return
	case "mathematical_expression": // https://core.telegram.org/bots/api#richtextmathematicalexpression
		badRequestIf(t.Expression == "" || t.Text != nil, "can't parse rich text: expression is missing")
		c.units += textLength(t.Expression)
		return
	case "bold", "italic", "underline", "strikethrough", "spoiler", "code", "marked":
	case "url":
		badRequestIf(!validLink(t.URL) && !strings.HasPrefix(t.URL, "mailto:"), "rich text URL '%s' is invalid: Wrong HTTP URL", t.URL)
	default:
		panic(badRequest("can't parse rich text: unsupported type"))
	}
	badRequestIf(t.Text == nil, "can't parse rich text: text is missing")
	c.text(t.Text, depth+1)
}

// plain returns the text without formats.
func (t *RichText) plain() string {
	if t == nil {
		return ""
	}
	var s strings.Builder
	s.WriteString(t.Plain + t.Text.plain() + t.Expression)
	for i := range t.List {
		s.WriteString(t.List[i].plain())
	}
	return s.String()
}

// plainBlocks returns the plain text of blocks, with a blank line between blocks, a line for each row and item, and two
// spaces between cells.
func plainBlocks(list []RichBlock) string {
	var out []string
	for _, b := range list {
		lines := []string{b.Text.plain() + b.Summary.plain() + b.Expression}
		if lines[0] == "" {
			lines = nil
		}
		if b.Type == "divider" {
			lines = append(lines, "──────────")
		}
		for _, row := range b.Cells {
			var cells []string
			for _, c := range row {
				cells = append(cells, c.Text.plain())
			}
			lines = append(lines, strings.Join(cells, "  "))
		}
		for _, item := range b.Items {
			mark := map[bool]string{true: "☑ ", false: "☐ "}[item.Checked]
			if !item.Checkbox {
				mark = "• "
			}
			lines = append(lines, mark+strings.ReplaceAll(plainBlocks(item.Blocks), "\n", "\n  "))
		}
		if len(b.Blocks) > 0 {
			lines = append(lines, plainBlocks(b.Blocks))
		}
		out = append(out, strings.Join(lines, "\n"))
	}
	return strings.Join(out, "\n\n")
}

// sendRichMessage sends a rich message, without link previews. Source:
// https://core.telegram.org/bots/api#sendrichmessage
func (s *Server) sendRichMessage(r *request, c *chat) any {
	_, v := s.richContent(r)
	return s.post(r, c, formatted{}, func(m *Message) {
		v.Keyboard = m.Last().Keyboard
		m.Versions[0] = v
	})
}

// sendRichMessageDraft shows a draft like sendMessageDraft, but with blocks in place of a text. Source:
// https://core.telegram.org/bots/api#sendrichmessagedraft
func (s *Server) sendRichMessageDraft(r *request, c *chat) any {
	return s.draft(r, c, func() Draft {
		rich, v := s.richContent(r)
		return Draft{Text: v.Text, Rich: rich}
	})
}

// SetRich sets whether the server supports rich messages. By default, the server supports rich messages. A server
// without rich messages responds with 404 to the methods for them, and ignores the parameter rich_message.
func (s *Server) SetRich(known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.richUnsupported = !known
}

// equalRich reports whether two lists of blocks are equal.
func equalRich(a, b []RichBlock) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
