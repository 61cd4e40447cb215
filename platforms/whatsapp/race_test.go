//go:build race

package whatsapp

// raced reports whether the race detector is on. If the race detector is on, the longest test runs in a shorter
// version.
const raced = true
