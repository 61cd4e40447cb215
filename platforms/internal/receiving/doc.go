// Package receiving contains what receiving has in common on all platforms: decoding payloads without quoting them,
// remembering accepted messages, parsing commands and mentions, and reading missed messages. It contains nothing
// specific to a platform.
package receiving
