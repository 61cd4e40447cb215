// Package marks writes a piece of laid-out text as one Markdown string. A platform needs such a Markdown string if its
// API does not accept formatting as a list of offsets. The string shows exactly the piece's text: characters that a
// platform would read as Markdown are escaped. A Grammar describes in what the Markdown of a platform differs from that
// of other platforms.
package marks
