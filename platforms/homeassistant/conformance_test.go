package homeassistant_test

import (
	"testing"

	"telex/platforms/conformance"
)

// The bot never edits a notification (F56). After each case, world.neverEdits checks that no notification had a cursor
// or got another text. Only the case that repeats a create call with a new text may give a notification another text.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.World { return newWorld(t) })
}

// sample is the sample answer of the conformance suite in the Markdown that the bot sends.
const sample = "# The plan\n" +
	"\n" +
	"Some **bold**, *italic* and ~~old~~ words, with `code_1` and [a link](https://example.org/a_b).\n" +
	"\n" +
	"- first\n" +
	"- second\n" +
	"  - deeper\n" +
	"\n" +
	"1. one\n" +
	"2. two\n" +
	"\n" +
	"> quoted\n" +
	"\n" +
	"```go\n" +
	"fmt.Println(\"a < b\")\n" +
	"```\n" +
	"\n" +
	"| Name | Size |\n" +
	"|---|--:|\n" +
	"| ant | 1 |\n" +
	"| beetle | 20 |\n" +
	"\n" +
	"That is all."
