// Package markup converts a model's Markdown (GFM) for chat platforms. It parses the text once, closes the open
// constructs of an unfinished text, measures the rendered result, and splits it without breaking a grapheme, a
// link, a code block or a table. A Dialect, defined by the platform's adapter, encodes the text and counts its
// length.
package markup
