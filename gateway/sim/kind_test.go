package sim

import (
	"unicode/utf16"
	"unicode/utf8"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/telegram"
)

// kind describes which calls a simulated platform supports.
type kind struct {
	name      string
	caps      chat.Capabilities
	keyed     bool // the platform creates no second message when a create call is repeated with its key
	probes    bool // the bot finds a message with edits that repeat the content of its create call
	transport preview.Transport
}

// kinds returns the kinds of platforms, from the most capable to the least.
func kinds() []kind {
	edits := chat.Capabilities{Edit: true, Delete: true, Typing: true}
	with := func(change func(*chat.Capabilities)) chat.Capabilities {
		c := edits
		change(&c)
		return c
	}
	return []kind{
		{name: "edit", caps: edits},
		{name: "edit-without-delete", caps: with(func(c *chat.Capabilities) { c.Delete = false })},
		{name: "edit-without-typing", caps: with(func(c *chat.Capabilities) { c.Typing = false })},
		{name: "edit-with-keys", caps: edits, keyed: true},
		{name: "edit-with-keys-and-find", caps: with(func(c *chat.Capabilities) { c.Find = true }), keyed: true},
		{name: "edit-and-find", caps: with(func(c *chat.Capabilities) { c.Find = true })},
		{name: "edit-and-files", caps: with(func(c *chat.Capabilities) { c.File = true })},
		{name: "draft", caps: with(func(c *chat.Capabilities) { c.Draft = true }), transport: preview.Draft},
		{name: "draft-and-find", caps: with(func(c *chat.Capabilities) { c.Draft, c.Find, c.File = true, true, true }), transport: preview.Draft},
		{name: "stream", caps: with(func(c *chat.Capabilities) { c.Stream = true }), transport: preview.Native},
		{name: "stream-with-keys", caps: with(func(c *chat.Capabilities) { c.Stream = true }), transport: preview.Native, keyed: true},
		{name: "no-edit", caps: chat.Capabilities{Typing: true}},
		{name: "no-edit-with-files", caps: chat.Capabilities{Typing: true, File: true}},
		{name: "no-edit-with-keys", keyed: true},
		{name: "send-only"},
		{name: "edit-and-probe", caps: with(func(c *chat.Capabilities) { c.Find = true }), probes: true},
	}
}

// reconciles reports whether the bot can always find out, sooner or later, whether a create call made its message.
func (k kind) reconciles() bool { return k.keyed || k.caps.Find }

// build returns an adapter with exactly those methods that the capabilities of the kind allow.
func (k kind) build(a *adapter) gateway.Platform {
	c := k.caps
	c.Delete, c.Typing = false, false
	both := struct {
		*adapter
		editing
		typing
	}{a, editing{a}, typing{a}}
	switch {
	case k.probes:
		return struct {
			*adapter
			editing
			deleting
			typing
			probing
		}{a, editing{a}, deleting{a}, typing{a}, probing{a}}
	case c.Draft && c.Find:
		return struct {
			*adapter
			editing
			deleting
			typing
			drafting
			finding
			filing
		}{a, editing{a}, deleting{a}, typing{a}, drafting{a}, finding{a}, filing{a}}
	case c.Draft:
		return struct {
			*adapter
			editing
			deleting
			typing
			drafting
		}{a, editing{a}, deleting{a}, typing{a}, drafting{a}}
	case c.Stream:
		return struct {
			*adapter
			editing
			deleting
			typing
			streaming
		}{a, editing{a}, deleting{a}, typing{a}, streaming{a}}
	case c.Find:
		return struct {
			*adapter
			editing
			deleting
			typing
			finding
		}{a, editing{a}, deleting{a}, typing{a}, finding{a}}
	case c.Edit && c.File:
		return struct {
			*adapter
			editing
			deleting
			typing
			filing
		}{a, editing{a}, deleting{a}, typing{a}, filing{a}}
	case c.File:
		return struct {
			*adapter
			typing
			filing
		}{a, typing{a}, filing{a}}
	case c.Edit && !k.caps.Delete:
		return both
	case c.Edit && !k.caps.Typing:
		return struct {
			*adapter
			editing
			deleting
		}{a, editing{a}, deleting{a}}
	case c.Edit:
		return struct {
			*adapter
			editing
			deleting
			typing
		}{a, editing{a}, deleting{a}, typing{a}}
	case k.caps.Typing:
		return struct {
			*adapter
			typing
		}{a, typing{a}}
	default:
		return a
	}
}

// measure is the unit in which a platform measures the length of texts, and the way in which the platform formats
// texts.
type measure string

// The units of length.
const (
	points   measure = "code points"
	units    measure = "UTF-16"
	bytes    measure = "bytes"
	entities measure = "UTF-16 and entities"
	blocks   measure = "UTF-16, entities and blocks" // with rich messages, for formats that entities can't express
)

func measures() []measure { return []measure{points, units, bytes, entities, blocks} }

// length returns the length of a text as the platform measures it. length does not use the code of the dialects, so
// that it can detect their errors.
func (m measure) length(s string) int {
	switch m {
	case points:
		return utf8.RuneCountInString(s)
	case bytes:
		return len(s)
	default:
		return len(utf16.Encode([]rune(s)))
	}
}

func (m measure) dialect() markup.Dialect {
	switch m {
	case entities:
		return telegram.Dialect{}
	case blocks:
		return telegram.Dialect{Rich: telegram.RichAuto}
	default:
		return measured{m}
	}
}

// measured is a dialect of plain text with a chosen unit of length.
type measured struct{ measure }

// Shape implements markup.Dialect.
func (measured) Shape() markup.Shape { return markup.Plain{}.Shape() }

// Render implements markup.Dialect.
func (measured) Render(p markup.Piece) markup.Rendered { return markup.Plain{}.Render(p) }

// Len implements markup.Dialect.
func (m measured) Len(r markup.Rendered) int { return m.length(r.Text) }
