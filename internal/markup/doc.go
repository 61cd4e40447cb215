// Package markup converts a model's Markdown (GFM) for chat platforms. The package parses the text once, closes the
// open constructs of an unfinished text, and splits the rendered text into messages of limited length. A split breaks
// no grapheme, link, code block or table. A Dialect, defined by the platform's adapter, encodes the text and counts its
// length.
package markup
