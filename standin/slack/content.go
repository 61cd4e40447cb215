package slack

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"telex/standin/rig"
)

// maxMetadata is the maximum size of a message's metadata, in bytes of JSON.
const maxMetadata = 16 << 10

// content is the content of a message in a call that posts or updates the message.
type content struct {
	text, markdown             string
	hasText, hasMarkdown       bool
	blocks                     []object // nil: the call has no blocks
	hasBlocks                  bool
	parsed                     parsedBlocks
	metadata                   json.RawMessage
	hasMetadata, emptyMetadata bool
	truncated                  bool
	previewsOff                bool
}

// readContent reads the arguments that chat.postMessage, chat.update and chat.stopStream have in common.
func (s *Server) readContent(r *request, most int, cut bool) content {
	c := content{
		text: r.text("text"), hasText: r.has("text"),
		markdown: r.text("markdown_text"), hasMarkdown: r.text("markdown_text") != "",
		previewsOff: previewsOff(r),
	}
	failIf(c.hasMarkdown && (c.text != "" || r.text("blocks") != ""), "markdown_text_conflict")
	failIf(units(c.markdown) > maxMarkdown || units(c.text) > most && !cut, "msg_too_long")
	if units(c.text) > most {
		c.text, c.truncated = cutUnits(c.text, most), true
	}
	if text := r.text("blocks"); text != "" {
		parsed := s.readBlocks(text)
		c.parsed, c.blocks, c.hasBlocks = parsed, parsed.list, true
	}
	c.readMetadata(r)
	return c
}

// readMetadata reads the argument metadata, which is {"event_type":"…","event_payload":{…}}. Source:
// https://docs.slack.dev/messaging/message-metadata
func (c *content) readMetadata(r *request) {
	text := r.text("metadata")
	if text == "" {
		return
	}
	c.hasMetadata = true
	var fields map[string]json.RawMessage
	failIf(json.Unmarshal([]byte(text), &fields) != nil || fields == nil, "invalid_metadata_format")
	if len(fields) == 0 {
		c.emptyMetadata = true
		return
	}
	var kind string
	var payload map[string]any
	failIf(json.Unmarshal(fields["event_type"], &kind) != nil || kind == "", "invalid_metadata_format")
	failIf(json.Unmarshal(fields["event_payload"], &payload) != nil || payload == nil, "invalid_metadata_schema")
	c.metadata = rig.Encode(object{"event_type": kind, "event_payload": payload})
	failIf(len(c.metadata) > maxMetadata, "metadata_too_large")
}

// empty reports whether the content shows nothing.
func (c *content) empty() bool { return c.text == "" && c.markdown == "" && len(c.blocks) == 0 }

// previewsOff reports whether a call disables both kinds of link previews. In the stand-in, both kinds of previews are
// on by default. Slack's default for links depends on conditions that it does not document. Source:
// https://docs.slack.dev/messaging/unfurling-links-in-messages#classic_unfurl
func previewsOff(r *request) bool {
	off := func(name string) bool { return r.has(name) && !r.flag(name) }
	return off("unfurl_links") && off("unfurl_media")
}

// newVersion returns the next version of a message, with the content c. before is the previous version, or zero for a
// new message. If c contains neither blocks nor Markdown, the new version keeps the blocks of the previous version.
func (s *Server) newVersion(now time.Time, before Version, c content, method string) Version {
	v := before
	v.At, v.Method, v.Broken, v.previewsOff = now, method, false, c.previewsOff
	switch {
	case c.hasMarkdown:
		v.Text, v.Markdown, v.Blocks, v.Buttons = c.markdown, c.markdown, nil, nil
		v.blocks = parsedBlocks{}
	default:
		if c.hasText {
			v.Text, v.Markdown = normalize(c.text), ""
		}
		if c.hasBlocks {
			v.Markdown = ""
			v.blocks = c.parsed
			v.Blocks, v.Buttons = nil, c.parsed.buttons
			if len(c.blocks) > 0 {
				v.Blocks = rig.Encode(c.blocks)
			}
		}
	}
	switch {
	case c.emptyMetadata:
		v.Metadata = nil
	case c.hasMetadata:
		v.Metadata = c.metadata
	}
	return s.complete(v)
}

// complete fills in the text that a version shows, and the people whom it mentions.
func (s *Server) complete(v Version) Version {
	source := v.Text
	if v.Markdown != "" {
		source = markdownShown(v.Markdown)
	}
	switch {
	case len(v.Blocks) > 0 && v.Markdown != "": // a stream with blocks, which appear below the stream's text
		source += "\n" + v.blocks.visibleText
	case len(v.Blocks) > 0:
		source = v.blocks.visibleText
	}
	v.Shown = s.shownText(source)
	v.Opened = nil
	if !v.previewsOff {
		v.Opened = linkedURLs(source + "\n\n" + v.Text)
	}
	v.Mentions = mentions(source)
	if len(v.Blocks) > 0 { // people receive the text in a notification, so its mentions count too
		for _, who := range mentions(v.Text) {
			if !slices.Contains(v.Mentions, who) {
				v.Mentions = append(v.Mentions, who)
			}
		}
	}
	return v
}

// warnTruncated adds a warning to the response if the text was cut, and records a violation.
func (s *Server) warnTruncated(r *request, c content, result object) object {
	if c.truncated {
		s.recordViolation(Truncated, r.call.Method, r.call.Channel, fmt.Sprintf("text cut to %d characters", maxText))
		result["warning"] = "message_truncated"
		result["response_metadata"] = object{"warnings": []string{"message_truncated"}}
	}
	return result
}
