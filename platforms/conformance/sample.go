package conformance

// Sample is a Markdown text with every kind of formatting that models often use. The method Sample of each World
// returns the text that people must see in the chat. In each World, the expected text of Sample is written by hand.
const Sample = `# The plan

Some **bold**, *italic* and ~~old~~ words, with ` + "`code_1`" + ` and [a link](https://example.org/a_b).

- first
- second
  - deeper

1. one
2. two

> quoted

` + "```go\nfmt.Println(\"a < b\")\n```" + `

| Name | Size |
|------|-----:|
| ant | 1 |
| beetle | 20 |

That is all.
`
