//go:build !race

package whatsapp

// raced reports whether the race detector is on.
const raced = false
