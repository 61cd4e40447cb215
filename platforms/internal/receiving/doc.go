// Package receiving contains what all adapters need to receive messages. The package decodes payloads without quoting
// them in errors, remembers accepted messages, parses commands and mentions, and reads missed messages. The package
// contains nothing specific to a platform.
package receiving
