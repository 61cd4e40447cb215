//go:build !race

package whatsapp

// raced says that the race detector does not run.
const raced = false
