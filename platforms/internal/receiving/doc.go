// Package receiving has what receiving has in common on all platforms: decoding payloads without ever quoting them,
// remembering accepted messages, reading commands and mentions, and reading missed messages. It knows no platform.
package receiving
