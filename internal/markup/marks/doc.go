// Package marks writes a piece of laid-out text as one string of Markdown, for platforms that
// take no formatting by offset. What shows is exactly the piece's text: everything in it that
// a platform would read as a mark is escaped. What one platform's Markdown has different from
// another's is its Grammar.
package marks
