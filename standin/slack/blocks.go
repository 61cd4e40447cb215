package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"telex/standin/rig"
)

// Limits of a message, https://docs.slack.dev/reference/block-kit/blocks and the pages of
// the methods. Lengths are UTF-16 units.
const (
	maxText         = 40_000 // more is cut.
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
	// maxWhole is what all blocks, and a stream, may show together. It is not documented:
	// https://github.com/slackapi/bolt-js/issues/2509.
	maxWhole = 13_200
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

// parsedBlocks are blocks as the platform takes them.
type parsedBlocks struct {
	list    []object // with the ids that were missing.
	shown   string   // their texts, a line for each, as mrkdwn or Markdown.
	buttons []Button
	total   int // of all texts.
}

// block is the union of what blocks carry.
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

// blockReader collects what blocks show, and what is wrong with them.
type blockReader struct {
	parsedBlocks
	markdown int // of markdown blocks.
	tables   int
	lines    []string
	ids      map[string]bool
	wrong    []string
	at       string // where in the JSON.
	newID    func() string
}

// readBlocks reads the blocks of a call.
func (s *Server) readBlocks(text string) parsedBlocks {
	return readBlocks(text, func() string { return s.nextID("b") })
}

// readBlocks parses and checks the blocks of a message. newID names blocks and buttons
// that have no id.
func readBlocks(text string, newID func() string) parsedBlocks {
	var list []object
	failIf(json.Unmarshal([]byte(text), &list) != nil, "invalid_blocks_format")
	var typed []block
	rig.RefuseIf(json.Unmarshal([]byte(text), &typed) != nil,
		&apiError{code: "invalid_blocks", detail: []string{"[ERROR] failed to match all allowed schemas [json-pointer:/blocks]"}})
	r := &blockReader{parsedBlocks: parsedBlocks{list: list}, ids: make(map[string]bool), newID: newID, at: "/blocks"}
	r.noIf(len(list) > maxBlocks, "no more than %d items allowed", maxBlocks)
	for i := range typed {
		r.at = fmt.Sprintf("/blocks/%d", i)
		if list[i] == nil {
			r.no("expected object")
			continue
		}
		r.block(&typed[i], list[i])
	}
	if r.at = "/blocks"; r.markdown > maxMarkdown {
		r.no("must be less than %d characters in all markdown blocks", maxMarkdown+1)
	}
	r.noIf(r.tables > 1, "only one table allowed")
	rig.RefuseIf(len(r.wrong) > 0, &apiError{code: "invalid_blocks", detail: r.wrong})
	failIf(r.total > maxWhole, "msg_blocks_too_long")
	r.shown = strings.Join(r.lines, "\n")
	return r.parsedBlocks
}

func (r *blockReader) no(format string, args ...any) {
	r.wrong = append(r.wrong, "[ERROR] "+fmt.Sprintf(format, args...)+" [json-pointer:"+r.at+"]")
}

func (r *blockReader) noIf(broken bool, format string, args ...any) {
	if broken {
		r.no(format, args...)
	}
}

// length checks a text and counts it.
func (r *blockReader) length(name, text string, least, most int) {
	n := units(text)
	r.total += n
	switch {
	case n < least:
		r.no("must be more than %d characters: %s", least-1, name)
	case n > most:
		r.no("must be less than %d characters: %s", most+1, name)
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
		r.no("missing or wrong text object")
		return
	}
	r.length("text", t.Text, 1, most)
	r.show(t.Text)
}

func (r *blockReader) block(b *block, raw object) {
	r.noIf(units(b.BlockID) > maxID, "must be less than %d characters: block_id", maxID+1)
	if b.BlockID == "" {
		b.BlockID = r.newID()
		raw["block_id"] = b.BlockID
	} else if r.ids[b.BlockID] {
		r.no("block_id already exists")
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
			r.no("missing required field: text")
			return
		}
		r.markdown += units(text)
		r.total += units(text)
		r.show(seen(text))
	case "divider":
	case "context":
		r.context(b)
	case "actions":
		r.actions(b, raw)
	case "image":
		r.noIf(b.ImageURL == "" || b.AltText == "", "missing required field: image_url or alt_text")
		r.length("image_url", b.ImageURL, 0, maxURL)
		r.length("alt_text", b.AltText, 0, maxField)
		r.show("[" + b.AltText + "]")
	case "rich_text":
		r.rich(b.Elements)
	case "table":
		r.table(b)
	default:
		r.no("unsupported type: %s", b.Type)
	}
}

func (r *blockReader) section(b *block) {
	switch {
	case b.Text != nil:
		r.text(b.Text, maxSection, "mrkdwn", "plain_text")
	case len(b.Fields) == 0:
		r.no("missing required field: text or fields")
	}
	r.noIf(len(b.Fields) > maxFields, "no more than %d items allowed: fields", maxFields)
	for _, f := range b.Fields {
		r.length("fields", f.Text, 1, maxField)
		r.show(f.Text)
	}
	if b.Accessory != nil {
		var raw object
		if err := json.Unmarshal(b.Accessory, &raw); err != nil || raw == nil {
			r.no("wrong accessory")
			return
		}
		r.button(b, raw, make(map[string]bool))
	}
}

func (r *blockReader) context(b *block) {
	var list []textObject
	if err := json.Unmarshal(b.Elements, &list); err != nil || len(list) == 0 {
		r.no("missing required field: elements")
	}
	r.noIf(len(list) > maxContext, "no more than %d items allowed: elements", maxContext)
	for _, t := range list {
		switch t.Type {
		case "mrkdwn", "plain_text":
			r.length("elements", t.Text, 1, maxSection)
			r.show(t.Text)
		case "image":
		default:
			r.no("unsupported type: %s", t.Type)
		}
	}
}

func (r *blockReader) actions(b *block, raw object) {
	list, _ := raw["elements"].([]any)
	r.noIf(len(list) == 0 || len(list) > maxActions, "between 1 and %d items allowed: elements", maxActions)
	ids := make(map[string]bool)
	for _, e := range list {
		raw, ok := e.(map[string]any)
		if !ok {
			r.no("expected object")
			continue
		}
		r.button(b, raw, ids)
	}
}

// button reads an interactive element; of those only buttons can be pressed here.
func (r *blockReader) button(b *block, raw object, ids map[string]bool) {
	var e element
	if err := json.Unmarshal(rig.Encode(raw), &e); err != nil {
		r.no("wrong element")
		return
	}
	switch e.Type {
	case "button":
	case "image", "overflow", "static_select", "datepicker", "checkboxes", "radio_buttons":
		return
	default:
		r.no("unsupported type: %s", e.Type)
		return
	}
	r.noIf(e.Text.Type != "plain_text", "a button's text must be plain_text")
	r.length("text", e.Text.Text, 1, maxButton)
	r.length("action_id", e.ActionID, 0, maxID)
	r.length("value", e.Value, 0, maxValue)
	r.length("url", e.URL, 0, maxURL)
	r.noIf(e.Style != "" && e.Style != "primary" && e.Style != "danger", "unknown style: %s", e.Style)
	if e.ActionID == "" {
		e.ActionID = r.newID()
		raw["action_id"] = e.ActionID
	} else if ids[e.ActionID] {
		r.no("action_id already exists: %s", e.ActionID)
	}
	ids[e.ActionID] = true
	r.buttons = append(r.buttons, Button{
		BlockID: b.BlockID, ActionID: e.ActionID, Text: e.Text.Text, Value: e.Value, URL: e.URL, Style: e.Style,
	})
}

func (r *blockReader) table(b *block) {
	r.tables++
	r.noIf(len(b.Rows) == 0 || len(b.Rows) > maxTableRows, "between 1 and %d items allowed: rows", maxTableRows)
	for _, row := range b.Rows {
		r.noIf(len(row) > maxTableColumns, "no more than %d items allowed: cells", maxTableColumns)
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
		r.no("missing required field: elements")
		return
	}
	for _, e := range list {
		text := richText(e)
		r.total += units(text)
		r.show(text)
	}
}

// richText is the text of a rich text element, its mentions written as in mrkdwn.
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
