// Package receiving is what receiving has in common on every platform: decoding what arrives without ever quoting it,
// remembering what was accepted, and reading what was written while nobody listened. It knows no platform.
package receiving
