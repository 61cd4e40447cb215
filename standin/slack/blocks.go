package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"telex/standin/rig"
)

// Limits of a message. Sources: https://docs.slack.dev/reference/block-kit/blocks and the pages of the methods. The
// limits count lengths in UTF-16 units.
const (
	maxText         = 40_000 // Slack cuts a longer text
	maxUpdateText   = 4_000
	maxMarkdown     = 12_000
	maxBlocks       = 50
	maxSection      = 3_000
	maxField        = 2_000
	maxFields       = 10
	maxHeader       = 150
	maxContext      = 10
	maxActions      = 25
	maxButton       = 75
	maxValue        = 2_000
	maxID           = 255
	maxURL          = 3_000
	maxTableRows    = 100
	maxTableColumns = 20
	// maxTotal limits the length of the text of all blocks together, and of a stream. Slack's documentation does
	// not mention this limit: https://github.com/slackapi/bolt-js/issues/2509.
	maxTotal = 13_200
)

// Button is one button of a message.
type Button struct {
	BlockID  string `json:"block_id"`
	ActionID string `json:"action_id"`
	Text     string `json:"text"`
	Value    string `json:"value,omitempty"`
	URL      string `json:"url,omitempty"`
	Style    string `json:"style,omitempty"`
}

// parsedBlocks are the blocks of a message in the form in which Slack stores them.
type parsedBlocks struct {
	list        []object // the blocks, with generated ids
	visibleText string   // the texts of the blocks, one per line, as mrkdwn or Markdown
	buttons     []Button
	total       int // length of all texts
}

// block contains the fields of all kinds of blocks.
type block struct {
	Type      string          `json:"type"`
	BlockID   string          `json:"block_id"`
	Text      json.RawMessage `json:"text"`
	Fields    []textObject    `json:"fields"`
	Elements  json.RawMessage `json:"elements"`
	Accessory json.RawMessage `json:"accessory"`
	ImageURL  string          `json:"image_url"`
	AltText   string          `json:"alt_text"`
	Rows      [][]any         `json:"rows"`
}

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type     string     `json:"type"`
	ActionID string     `json:"action_id"`
	Text     textObject `json:"text"`
	Value    string     `json:"value"`
	URL      string     `json:"url"`
	Style    string     `json:"style"`
}

// blockReader collects the visible content of blocks, and the errors in the blocks.
type blockReader struct {
	parsedBlocks
	markdown int // length of the markdown blocks
	tables   int
	lines    []string
	ids      map[string]bool
	errors   []string
	path     string // current position in the JSON
	newID    func() string
}

// readBlocks parses the blocks of a call.
func (s *Server) readBlocks(text string) parsedBlocks {
	return readBlocks(text, func() string { return s.nextID("b") })
}

// readBlocks parses and validates the blocks of a message. readBlocks calls the function newID to create ids for blocks
// and buttons that have none.
func readBlocks(text string, newID func() string) parsedBlocks {
	var list []object
	failIf(json.Unmarshal([]byte(text), &list) != nil, "invalid_blocks_format")
	var typed []block
	rig.RefuseIf(json.Unmarshal([]byte(text), &typed) != nil,
		&apiError{code: "invalid_blocks", detail: []string{"[ERROR] failed to match all allowed schemas [json-pointer:/blocks]"}})
	r := &blockReader{parsedBlocks: parsedBlocks{list: list}, ids: make(map[string]bool), newID: newID, path: "/blocks"}
	r.addErrorIf(len(list) > maxBlocks, "no more than %d items allowed", maxBlocks)
	for i := range typed {
		r.path = fmt.Sprintf("/blocks/%d", i)
		if list[i] == nil {
			r.addError("expected object")
			continue
		}
		r.block(&typed[i], list[i])
	}
	if r.path = "/blocks"; r.markdown > maxMarkdown {
		r.addError("must be less than %d characters in all markdown blocks", maxMarkdown+1)
	}
	r.addErrorIf(r.tables > 1, "only one table allowed")
	rig.RefuseIf(len(r.errors) > 0, &apiError{code: "invalid_blocks", detail: r.errors})
	failIf(r.total > maxTotal, "msg_blocks_too_long")
	r.visibleText = strings.Join(r.lines, "\n")
	return r.parsedBlocks
}

func (r *blockReader) addError(format string, args ...any) {
	r.errors = append(r.errors, "[ERROR] "+fmt.Sprintf(format, args...)+" [json-pointer:"+r.path+"]")
}

func (r *blockReader) addErrorIf(broken bool, format string, args ...any) {
	if broken {
		r.addError(format, args...)
	}
}

// length validates the length of a text and adds it to the total.
func (r *blockReader) length(name, text string, least, most int) {
	n := units(text)
	r.total += n
	switch {
	case n < least:
		r.addError("must be more than %d characters: %s", least-1, name)
	case n > most:
		r.addError("must be less than %d characters: %s", most+1, name)
	}
}

func (r *blockReader) show(text string) {
	if text != "" {
		r.lines = append(r.lines, text)
	}
}

// text reads a text object.
func (r *blockReader) text(raw json.RawMessage, most int, types ...string) {
	var t textObject
	if err := json.Unmarshal(raw, &t); err != nil || !slices.Contains(types, t.Type) {
		r.addError("missing or wrong text object")
		return
	}
	r.length("text", t.Text, 1, most)
	r.show(t.Text)
}

func (r *blockReader) block(b *block, raw object) {
	r.addErrorIf(units(b.BlockID) > maxID, "must be less than %d characters: block_id", maxID+1)
	if b.BlockID == "" {
		b.BlockID = r.newID()
		raw["block_id"] = b.BlockID
	} else if r.ids[b.BlockID] {
		r.addError("block_id already exists")
	}
	r.ids[b.BlockID] = true
	switch b.Type {
	case "section":
		r.section(b)
	case "header":
		r.text(b.Text, maxHeader, "plain_text")
	case "markdown":
		var text string
		if err := json.Unmarshal(b.Text, &text); err != nil || text == "" {
			r.addError("missing required field: text")
			return
		}
		r.markdown += units(text)
		r.total += units(text)
		r.show(markdownShown(text))
	case "divider":
	case "context":
		r.context(b)
	case "actions":
		r.actions(b, raw)
	case "image":
		r.addErrorIf(b.ImageURL == "" || b.AltText == "", "missing required field: image_url or alt_text")
		r.length("image_url", b.ImageURL, 0, maxURL)
		r.length("alt_text", b.AltText, 0, maxField)
		r.show("[" + b.AltText + "]")
	case "rich_text":
		r.rich(b.Elements)
	case "table":
		r.table(b)
	default:
		r.addError("unsupported type: %s", b.Type)
	}
}

func (r *blockReader) section(b *block) {
	switch {
	case b.Text != nil:
		r.text(b.Text, maxSection, "mrkdwn", "plain_text")
	case len(b.Fields) == 0:
		r.addError("missing required field: text or fields")
	}
	r.addErrorIf(len(b.Fields) > maxFields, "no more than %d items allowed: fields", maxFields)
	for _, f := range b.Fields {
		r.length("fields", f.Text, 1, maxField)
		r.show(f.Text)
	}
	if b.Accessory != nil {
		var raw object
		if err := json.Unmarshal(b.Accessory, &raw); err != nil || raw == nil {
			r.addError("wrong accessory")
			return
		}
		r.button(b, raw, make(map[string]bool))
	}
}

func (r *blockReader) context(b *block) {
	var list []textObject
	if err := json.Unmarshal(b.Elements, &list); err != nil || len(list) == 0 {
		r.addError("missing required field: elements")
	}
	r.addErrorIf(len(list) > maxContext, "no more than %d items allowed: elements", maxContext)
	for _, t := range list {
		switch t.Type {
		case "mrkdwn", "plain_text":
			r.length("elements", t.Text, 1, maxSection)
			r.show(t.Text)
		case "image":
		default:
			r.addError("unsupported type: %s", t.Type)
		}
	}
}

func (r *blockReader) actions(b *block, raw object) {
	list, _ := raw["elements"].([]any)
	r.addErrorIf(len(list) == 0 || len(list) > maxActions, "between 1 and %d items allowed: elements", maxActions)
	ids := make(map[string]bool)
	for _, e := range list {
		raw, ok := e.(map[string]any)
		if !ok {
			r.addError("expected object")
			continue
		}
		r.button(b, raw, ids)
	}
}

// button reads an interactive element. The stand-in validates only buttons, and only buttons can be pressed. The
// stand-in accepts some other kinds of elements without validating them.
func (r *blockReader) button(b *block, raw object, ids map[string]bool) {
	var e element
	if err := json.Unmarshal(rig.Encode(raw), &e); err != nil {
		r.addError("wrong element")
		return
	}
	switch e.Type {
	case "button":
	case "image", "overflow", "static_select", "datepicker", "checkboxes", "radio_buttons":
		return
	default:
		r.addError("unsupported type: %s", e.Type)
		return
	}
	r.addErrorIf(e.Text.Type != "plain_text", "a button's text must be plain_text")
	r.length("text", e.Text.Text, 1, maxButton)
	r.length("action_id", e.ActionID, 0, maxID)
	r.length("value", e.Value, 0, maxValue)
	r.length("url", e.URL, 0, maxURL)
	r.addErrorIf(e.Style != "" && e.Style != "primary" && e.Style != "danger", "unknown style: %s", e.Style)
	if e.ActionID == "" {
		e.ActionID = r.newID()
		raw["action_id"] = e.ActionID
	} else if ids[e.ActionID] {
		r.addError("action_id already exists: %s", e.ActionID)
	}
	ids[e.ActionID] = true
	r.buttons = append(r.buttons, Button{
		BlockID: b.BlockID, ActionID: e.ActionID, Text: e.Text.Text, Value: e.Value, URL: e.URL, Style: e.Style,
	})
}

func (r *blockReader) table(b *block) {
	r.tables++
	r.addErrorIf(len(b.Rows) == 0 || len(b.Rows) > maxTableRows, "between 1 and %d items allowed: rows", maxTableRows)
	for _, row := range b.Rows {
		r.addErrorIf(len(row) > maxTableColumns, "no more than %d items allowed: cells", maxTableColumns)
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = richText(cell)
			r.total += units(cells[i])
		}
		r.show(strings.Join(cells, "\t"))
	}
}

func (r *blockReader) rich(raw json.RawMessage) {
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil {
		r.addError("missing required field: elements")
		return
	}
	for _, e := range list {
		text := richText(e)
		r.total += units(text)
		r.show(text)
	}
}

// richText returns the text of a rich text element, with mentions in the form of mrkdwn, such as <@U7>.
func richText(v any) string {
	e, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	name := func(key string) string { text, _ := e[key].(string); return text }
	switch name("type") {
	case "text", "raw_text":
		return escape(name("text"))
	case "link":
		return cmp.Or(escape(name("text")), name("url"))
	case "user":
		return "<@" + name("user_id") + ">"
	case "usergroup":
		return "<!subteam^" + name("usergroup_id") + ">"
	case "broadcast":
		return "<!" + name("range") + ">"
	case "emoji":
		return ":" + name("name") + ":"
	}
	var b strings.Builder
	parts, _ := e["elements"].([]any)
	for _, part := range parts {
		b.WriteString(richText(part))
	}
	return b.String()
}
