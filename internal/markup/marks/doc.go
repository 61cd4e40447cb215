// Package marks writes a piece of laid-out text as one Markdown string, for platforms that take no formatting by offset.
// It shows exactly the piece's text: it escapes characters that a platform would read as marks. A Grammar describes the
// differences between the platforms' Markdown.
package marks
