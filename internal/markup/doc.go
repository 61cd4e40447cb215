// Package markup turns a model's Markdown (GFM) into what a chat platform shows: it parses
// once, closes what an unfinished text leaves open, measures after rendering, and splits
// without breaking a grapheme, a link, a code block or a table. How a platform writes and
// counts is a Dialect, which lives with its adapter.
package markup
