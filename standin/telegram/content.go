package telegram

import (
	"fmt"
	"slices"
)

// content reads the parameters text, parse_mode and entities of a call. The text may be empty only if emptyOK is set.
func (s *Server) content(r *request, emptyOK bool) formatted {
	return s.contentOf(r, "text", "entities", emptyOK)
}

func (s *Server) contentOf(r *request, textField, entityField string, emptyOK bool) formatted {
	source := r.text(textField)
	badRequestIf(len(source) > maxSource, "text is too long")
	text, entities := parseMarkup(source, r.text("parse_mode"))
	if r.text("parse_mode") == "" {
		r.object(entityField, &entities, unparsable("Can't parse entities JSON object"))
	}
	if n := len(entities); n > maxEntities {
		s.recordViolation(r.now, SurplusEntities, r.call, fmt.Sprintf("%d entities", n))
		entities = slices.Clone(entities[:maxEntities])
	}
	f := fixText(text, entities)
	badRequestIf(f.text == "" && !emptyOK, "message text is empty")
	return f
}

// readMarkup reads the parameter reply_markup. readMarkup returns the inline keyboard. fixed means that the call
// contains another kind of markup. The bot can't edit a message with this other kind of markup later.
func readMarkup(r *request) (keyboard [][]Button, fixed bool) {
	var m struct {
		Inline     *[][]Button `json:"inline_keyboard"`
		Keyboard   *[][]any    `json:"keyboard"`
		Remove     bool        `json:"remove_keyboard"`
		ForceReply bool        `json:"force_reply"`
	}
	if !r.object("reply_markup", &m, badRequest("can't parse reply keyboard markup JSON object")) {
		return nil, false
	}
	if m.Inline == nil {
		return nil, m.Keyboard != nil || m.Remove || m.ForceReply
	}
	for _, row := range *m.Inline {
		for _, b := range row {
			checkButton(b)
		}
		if len(row) > 0 {
			keyboard = append(keyboard, row)
		}
	}
	return keyboard, false
}

func checkButton(b Button) {
	badRequestIf(b.Text == "", `can't parse inline keyboard button: Field "text" must be non-empty`)
	badRequestIf(b.CallbackData == "" && b.URL == "", "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
	badRequestIf(len(b.CallbackData) > 64, "BUTTON_DATA_INVALID") // the limit counts bytes: https://core.telegram.org/bots/api#inlinekeyboardbutton
	badRequestIf(b.URL != "" && !validLink(b.URL), "BUTTON_URL_INVALID")
}

func equalKeyboards(a, b [][]Button) bool { return slices.EqualFunc(a, b, slices.Equal[[]Button]) }

// linkPreview reads the parameter link_preview_options or its older form. linkPreview returns whether previews are off,
// and the URL for the preview.
func linkPreview(r *request) (off bool, url string) {
	var options wireLinkPreview
	if !r.object("link_preview_options", &options, badRequest("can't parse link preview options JSON object")) {
		return r.flag("disable_web_page_preview"), ""
	}
	return options.IsDisabled, options.URL
}

// hasLink reports whether a version contains a link, which Telegram may show with a preview.
func hasLink(v Version) bool {
	link := func(e Entity) bool { return e.Type == "url" || e.Type == "text_link" }
	return slices.ContainsFunc(v.Entities, link) || slices.ContainsFunc(v.Detected, link)
}
