// Package marks writes a piece of laid-out text as one Markdown string, for platforms that take no formatting by
// offset. It shows exactly the piece's text: characters that a platform would read as marks are escaped. A
// Grammar describes the differences between the platforms' Markdown.
package marks
