package discord

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Types of components.
// Source: https://docs.discord.com/developers/components/reference#component-object-component-types
const (
	componentRow         = 1
	componentButton      = 2
	componentSelect      = 3
	componentUserSelect  = 5
	componentLastSelect  = 8
	componentSection     = 9
	componentText        = 10
	componentThumbnail   = 11
	componentGallery     = 12
	componentFile        = 13
	componentSeparator   = 14
	componentContainer   = 17
	styleLink            = 5
	stylePremium         = 6
	maxRows              = 5
	maxRowButtons        = 5
	maxComponents        = 40   // components of a message with flagComponentsV2, including nested ones
	maxComponentText     = 4000 // characters of all text displays together
	maxLabel             = 80
	maxCustomID          = 100
	maxButtonURL         = 512
	maxSelectPlaceholder = 150
)

// componentReader validates the components of a message.
type componentReader struct {
	v2      bool
	count   int
	text    int
	ids     map[string]bool
	buttons []Button
}

// readComponents validates the field "components" and returns the buttons.
func readComponents(f form, v2 bool) []Button {
	r := componentReader{v2: v2, ids: make(map[string]bool)}
	most := maxRows
	if v2 {
		most = maxComponents
	}
	for _, c := range f.forms("components", most) {
		kind := c.integer("type")
		if !v2 && kind != componentRow {
			c.bad("UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1,).", "type")
			continue
		}
		r.read(c, kind)
	}
	if r.count > maxComponents && v2 {
		f.bad("COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", fmt.Sprintf("Total number of components cannot exceed %d", maxComponents), "components")
	}
	if r.text > maxComponentText {
		f.bad("COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", fmt.Sprintf("Component displayable text size exceeds maximum size of %d", maxComponentText), "components")
	}
	return r.buttons
}

func (r *componentReader) read(f form, kind int) {
	r.count++
	switch {
	case kind == componentRow:
		r.row(f)
	case kind == componentButton:
		r.button(f)
	case kind == componentSelect, kind >= componentUserSelect && kind <= componentLastSelect:
		r.customID(f)
		f.text("placeholder", 0, maxSelectPlaceholder)
	case !r.v2:
		f.bad("BASE_TYPE_CHOICES", "Value must be one of {2, 3, 5, 6, 7, 8}.", "type")
	case kind == componentText:
		r.text += utf8.RuneCountInString(f.text("content", 1, maxComponentText))
	case kind == componentSection:
		r.children(f, 3)
		if accessory := f.sub("accessory"); f.has("accessory") {
			r.read(accessory, accessory.integer("type"))
		} else {
			f.bad("BASE_TYPE_REQUIRED", "This field is required", "accessory")
		}
	case kind == componentContainer:
		r.children(f, maxComponents)
	case kind == componentThumbnail, kind == componentGallery, kind == componentFile, kind == componentSeparator:
	default:
		f.bad("BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17}.", "type")
	}
}

func (r *componentReader) children(f form, most int) {
	list := f.forms("components", most)
	f.badIf(len(list) == 0, "BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between 1 and %d in length.", most), "components")
	for _, c := range list {
		r.read(c, c.integer("type"))
	}
}

// row reads a row of up to five buttons or one select menu.
func (r *componentReader) row(f form) {
	list := f.forms("components", maxRowButtons)
	f.badIf(len(list) == 0, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.", "components")
	for i, c := range list {
		kind := c.integer("type")
		if kind != componentButton && len(list) > 1 {
			f.bad("COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width", "components", strconv.Itoa(i))
			continue
		}
		if kind != componentButton && kind != componentSelect && (kind < componentUserSelect || kind > componentLastSelect) {
			c.bad("BASE_TYPE_CHOICES", "Value must be one of {2, 3, 5, 6, 7, 8}.", "type")
			continue
		}
		r.read(c, kind)
	}
}

func (r *componentReader) button(f form) {
	b := Button{Label: f.text("label", 0, maxLabel), Style: f.integer("style"), Disabled: f.flag("disabled", false)}
	switch {
	case b.Style < 1 || b.Style > stylePremium:
		f.bad("BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5, 6}.", "style")
	case b.Style == styleLink:
		b.URL = f.text("url", 1, maxButtonURL)
		f.badIf(f.has("custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified", "custom_id")
	case b.Style == stylePremium:
		f.text("sku_id", 1, 20)
	default:
		b.CustomID = r.customID(f)
		f.badIf(f.has("url"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified", "url")
	}
	f.badIf(b.Label == "" && !f.has("emoji") && b.Style != stylePremium, "BUTTON_COMPONENT_INVALID_LABEL", "A button must have a label or an emoji", "label")
	r.buttons = append(r.buttons, b)
}

func (r *componentReader) customID(f form) string {
	id := f.text("custom_id", 1, maxCustomID)
	f.badIf(id != "" && r.ids[id], "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated", "custom_id")
	r.ids[id] = true
	return id
}

const (
	maxEmbeds    = 10
	maxEmbedText = 6000 // characters of all embeds of a message together
)

// readEmbeds validates the field embeds. Source:
// https://docs.discord.com/developers/resources/message#embed-object-embed-limits
func readEmbeds(f form) {
	total := 0
	count := func(s string) { total += utf8.RuneCountInString(s) }
	for _, e := range f.forms("embeds", maxEmbeds) {
		count(e.text("title", 0, 256))
		count(e.text("description", 0, 4096))
		count(e.sub("footer").text("text", 0, 2048))
		count(e.sub("author").text("name", 0, 256))
		for _, g := range e.forms("fields", 25) {
			count(g.text("name", 1, 256))
			count(g.text("value", 1, 1024))
		}
		e.badIf(len(e.fields) == 0, "EMPTY_MODEL_BODY", "Embeds cannot be empty")
	}
	f.badIf(total > maxEmbedText, "MAX_EMBED_SIZE_EXCEEDED", fmt.Sprintf("Embed size exceeds maximum size of %d", maxEmbedText), "embeds")
}

// rawList returns a field that is an array, or nil if the array is missing or empty.
func (f form) rawList(name string) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(f.fields[name], &list) != nil || len(list) == 0 {
		return nil
	}
	return f.fields[name]
}
