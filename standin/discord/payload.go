package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"telex/standin/rig"
)

const (
	// maxContent is the maximum length of a message's content in code points. Discord's staff stated that Discord counts
	// code points: https://github.com/discord/discord-api-docs/issues/1315.
	maxContent = 2000
	// maxNonce is the maximum length of a nonce in characters.
	maxNonce = 25
)

// Flags of messages.
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags
const (
	flagSuppressEmbeds = 1 << 2
	flagHasThread      = 1 << 5
	flagEphemeral      = 1 << 6
	flagLoading        = 1 << 7
	flagSilent         = 1 << 12
	flagComponentsV2   = 1 << 15
)

// payload is the content of a message in a call that sends or edits the message. In an edit, the message keeps the
// values of missing fields.
type payload struct {
	form            form
	content         string
	hasContent      bool
	components      json.RawMessage
	hasComponents   bool
	buttons         []Button
	embeds          json.RawMessage
	hasEmbeds       bool
	keep            []string // ids of the attachments that the edited message keeps; nil: all
	files           []newFile
	flags           int
	hasFlags        bool
	nonce           string
	rawNonce        json.RawMessage
	enforce         bool
	replyTo         string
	failIfNotExists bool
	allowed         allowedMentions
}

// newFile is a file that a call adds to a message.
type newFile struct {
	rig.Upload
	description string
}

// readPayload decodes and validates the fields of a message. Like Discord, readPayload ignores flags outside
// allowedFlags. v2 means that the edited message has components of the second version.
func readPayload(f form, files map[int]rig.Upload, interaction, v2 bool, allowedFlags int) payload {
	p := payload{form: f, hasContent: f.isSet("content"), hasComponents: f.isSet("components"), hasEmbeds: f.isSet("embeds"), hasFlags: f.isSet("flags")}
	p.flags = f.integer("flags") & allowedFlags
	v2 = v2 || p.flags&flagComponentsV2 != 0
	p.content = cleanText(f.text("content", 0, maxContent))
	p.buttons = readComponents(f, v2)
	p.components, p.embeds = f.rawList("components"), f.rawList("embeds")
	readEmbeds(f)
	if v2 {
		p.checkV2()
	}
	if f.has("nonce") {
		p.nonce, p.rawNonce = f.text("nonce", 0, maxNonce), f.fields["nonce"]
	}
	p.enforce = f.flag("enforce_nonce", false)
	if ref := f.sub("message_reference"); f.has("message_reference") {
		p.replyTo, p.failIfNotExists = ref.snowflake("message_id"), ref.flag("fail_if_not_exists", true)
		ref.badIf(p.replyTo == "" && !ref.has("message_id"), "BASE_TYPE_REQUIRED", "This field is required", "message_id")
	}
	p.allowed = readAllowed(f, interaction)
	p.readFiles(files)
	return p
}

// checkV2 refuses fields that a message with components of the second version can't have.
func (p *payload) checkV2() {
	for _, name := range []string{"content", "embeds"} {
		p.form.badIf((name == "content" && p.content != "") || (name == "embeds" && len(p.embeds) > 0),
			"MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The '"+name+"' field cannot be used when using MessageFlags.IS_COMPONENTS_V2", name)
	}
}

// readFiles combines the files with their descriptions in the field "attachments".
func (p *payload) readFiles(files map[int]rig.Upload) {
	describe := make(map[string]form)
	if p.form.isSet("attachments") {
		p.keep = []string{}
	}
	for _, a := range p.form.forms("attachments", maxFiles) {
		id := strings.Trim(string(a.fields["id"]), `"`)
		if n, err := strconv.Atoi(id); err == nil {
			if _, ok := files[n]; ok {
				describe[id] = a
				continue
			}
		}
		p.keep = append(p.keep, id)
	}
	p.form.badIf(len(files) > maxFiles, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", maxFiles), "files")
	for _, n := range slices.Sorted(maps.Keys(files)) {
		file := newFile{Upload: files[n]}
		if a, ok := describe[strconv.Itoa(n)]; ok {
			file.Name = cmp.Or(a.text("filename", 0, 260), file.Name)
			file.description = a.text("description", 0, 1024)
		}
		p.files = append(p.files, file)
	}
}

// cleanText returns a text in the form in which Discord stores it: trimmed, and without control characters and invalid
// UTF-8.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '\r' || (r < ' ' && r != '\n' && r != '\t') {
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	return strings.TrimSpace(text)
}

// empty reports whether a message with this version would show nothing.
func (v Version) empty() bool {
	return v.Content == "" && len(v.Embeds) == 0 && len(v.Attachments) == 0 && len(v.Components) == 0
}
