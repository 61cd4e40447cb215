//go:build race

package whatsapp

// raced reports whether the race detector is on. With it, the longest test is shorter; it runs in full without it.
const raced = true
