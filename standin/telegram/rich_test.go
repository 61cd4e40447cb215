package telegram_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// rich returns the parameter rich_message with the given blocks.
func rich(blocks string) string { return `{"skip_entity_detection":true,"blocks":[` + blocks + `]}` }

const table = `{"type":"table","cells":[[{"text":"Name","is_header":true,"align":"left","valign":"top"},{"text":"Size","is_header":true,"align":"right","valign":"top"}],` +
	`[{"text":"ant","align":"left","valign":"top"},{"text":{"type":"bold","text":"1"},"align":"right","valign":"top"}]]}`

func TestRichMessages(t *testing.T) {
	t.Parallel()
	c := free(t)
	tasks := `{"type":"list","items":[{"has_checkbox":true,"is_checked":true,"blocks":[{"type":"paragraph","text":["a ",{"type":"url","url":"https://e.org","text":"b"}]}]},` +
		`{"has_checkbox":true,"blocks":[{"type":"paragraph","text":"@somebody"}]}]}`
	id := c.call("sendRichMessage", args{"chat_id": "1001", "rich_message": rich(table + "," + tasks)}).message(t)
	m := c.server.View(person, time.Now())[1]
	if m.ID != id || m.Text() != "Name  Size\nant  1\n\n☑ a b\n☐ @somebody" || len(m.Last().Rich) != 2 || len(m.Last().Detected) != 0 || m.Last().Opened() != "" {
		t.Errorf("got %+v", m)
	}
	edit := args{"chat_id": "1001", "message_id": strconv.Itoa(id), "rich_message": rich(`{"type":"paragraph","text":"one"}`)}
	if r := c.call("editMessageText", edit); !r.OK || !strings.Contains(string(r.Result), `"rich_message":{"blocks":[{"type":"paragraph","text":"one"}]}`) {
		t.Errorf("edit: got %s", r.Raw)
	}
	if r := c.call("editMessageText", edit); !strings.Contains(r.Description, "message is not modified") {
		t.Errorf("the same again: got %s", r.Raw)
	}
	if r := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": "plain"}); !r.OK {
		t.Errorf("to a plain text: got %s", r.Raw)
	}
	if r := c.call("sendRichMessageDraft", args{"chat_id": "1001", "draft_id": "3", "rich_message": rich(table)}); !r.OK {
		t.Errorf("draft: got %s", r.Raw)
	}
	if r := c.call("sendRichMessageDraft", args{"chat_id": "1001", "draft_id": "3", "rich_message": rich(`{"type":"thinking","text":"Looking"},` + table)}); !r.OK {
		t.Errorf("draft with thinking: got %s", r.Raw)
	}
	if d := c.server.Screen(person, time.Now()).Drafts; len(d) != 1 || d[0].Text != "Looking\n\nName  Size\nant  1" || d[0].Rich == nil {
		t.Errorf("drafts: got %+v", d)
	}
	c.call("sendRichMessageDraft", args{"chat_id": "1001", "draft_id": "3", "rich_message": rich(table)})
	if d := c.server.Screen(person, time.Now()).Drafts; len(d) != 1 || d[0].Text != "Name  Size\nant  1" || d[0].Rich == nil {
		t.Errorf("drafts: got %+v", d)
	}
}

func TestRichLimits(t *testing.T) {
	t.Parallel()
	c := free(t)
	paragraph := func(text string) string { return `{"type":"paragraph","text":"` + text + `"}` }
	deep := strings.Repeat(`{"type":"blockquote","blocks":[`, 16) + paragraph("x") + strings.Repeat(`]}`, 16)
	cell := `{"text":"x","align":"left","valign":"top"}`
	wide := strings.TrimSuffix(strings.Repeat(cell+",", 21), ",")
	for name, tt := range map[string]struct{ blocks, refusal string }{
		"longest":         {paragraph(strings.Repeat("x", 32768)), ""},
		"too long":        {paragraph(strings.Repeat("x", 32769)), "RICH_MESSAGE_TEXT_TOO_LONG"},
		"most blocks":     {strings.TrimSuffix(strings.Repeat(paragraph("x")+",", 500), ","), ""},
		"too many blocks": {strings.TrimSuffix(strings.Repeat(paragraph("x")+",", 501), ","), "RICH_MESSAGE_BLOCKS_TOO_MANY"},
		"too deep":        {deep, "RICH_MESSAGE_DEPTH_TOO_LARGE"},
		"too wide":        {`{"type":"table","cells":[[` + wide + `]]}`, "RICH_MESSAGE_TABLE_COLS_TOO_MANY"},
		"ragged":          {`{"type":"table","cells":[[` + cell + `],[` + cell + `,` + cell + `]]}`, "same number of cells"},
		"blank":           {paragraph("  "), "message text is empty"},
		"thinking":        {`{"type":"thinking","text":"x"}`, "thinking is shown in drafts only"},
		"unknown":         {`{"type":"marquee","text":"x"}`, "unsupported type"},
		"a formula":       {`{"type":"paragraph","text":["x ",{"type":"mathematical_expression","expression":"x^2"}]},{"type":"mathematical_expression","expression":"y"}`, ""},
		"no formula":      {`{"type":"paragraph","text":{"type":"mathematical_expression","text":"x"}}`, "expression is missing"},
		"details":         {`{"type":"details","summary":"a","is_open":true,"blocks":[` + paragraph("x") + `]}`, ""},
		"no summary":      {`{"type":"details","blocks":[` + paragraph("x") + `]}`, "summary is missing"},
		"empty details":   {`{"type":"details","summary":"a"}`, "details must be non-empty"},
		"long formulas":   {`{"type":"mathematical_expression","expression":"` + strings.Repeat("x", 32769) + `"}`, "RICH_MESSAGE_TEXT_TOO_LONG"},
		"a wrong link":    {`{"type":"paragraph","text":{"type":"url","url":"javascript:x","text":"x"}}`, "Wrong HTTP URL"},
		"not JSON":        {`{`, "can't parse InputRichMessage"},
	} {
		r := c.call("sendRichMessage", args{"chat_id": "1001", "rich_message": rich(tt.blocks)})
		if r.OK != (tt.refusal == "") || !strings.Contains(r.Description, tt.refusal) {
			t.Errorf("%s: got %.200s, want %q", name, r.Raw, tt.refusal)
		}
	}
}

func TestServerWithoutRichMessages(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.SetRich(false)
	for _, method := range []string{"sendRichMessage", "sendRichMessageDraft"} {
		if r := c.call(method, args{"chat_id": "1001", "draft_id": "3", "rich_message": rich(table)}); r.ErrorCode != 404 {
			t.Errorf("%s: got %s", method, r.Raw)
		}
	}
	id := c.call("sendMessage", args{"chat_id": "1001", "text": "plain"}).message(t)
	r := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "rich_message": rich(table)})
	if !strings.Contains(r.Description, "message text is empty") {
		t.Errorf("edit: got %s", r.Raw)
	}
	c.server.SetRich(true)
	c.call("sendRichMessage", args{"chat_id": "1001", "rich_message": rich(table)}).message(t)
}
