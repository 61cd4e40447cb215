package whatsapp_test

import (
	"testing"

	"telex/platforms/conformance"
	standin "telex/standin/whatsapp"
)

// The bot must never edit a message, because WhatsApp has no edits (F56). After each case, world.neverEdits checks that
// the bot never tried to edit a message, and that no message had a cursor.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.World { return newWorld(t, standin.Options{}) })
}

// sample is the sample answer of the conformance suite in WhatsApp's markup.
const sample = "*The plan*\n" +
	"\n" +
	"Some *bold*, _italic_ and ~old~ words, with `code_1` and a link (https://example.org/a_b).\n" +
	"\n" +
	"- first\n" +
	"- second\n" +
	"  ◦ deeper\n" +
	"\n" +
	"1. one\n" +
	"2. two\n" +
	"\n" +
	"> quoted\n" +
	"\n" +
	"```\n" +
	"fmt.Println(\"a < b\")\n" +
	"```\n" +
	"\n" +
	"```\n" +
	"Name    Size\n" +
	"------  ----\n" +
	"ant        1\n" +
	"beetle    20\n" +
	"```\n" +
	"\n" +
	"That is all."
