package slack_test

import (
	"testing"

	"telex/platforms/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, socketWorld)
}

// sample is the suite's sample Markdown as the stand-in displays it. The stand-in draws bullets and decodes HTML
// entities, but leaves all other Markdown delimiters unchanged.
const sample = "# The plan\n" +
	"\n" +
	"Some **bold**, *italic* and ~~old~~ words, with `code_1` and [a link](https://example.org/a_b).\n" +
	"\n" +
	"• first\n" +
	"• second\n" +
	"  ◦ deeper\n" +
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
