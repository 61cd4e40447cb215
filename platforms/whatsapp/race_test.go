//go:build race

package whatsapp

// raced says that the race detector runs: the longest test is shorter then, as it is played in full without it.
const raced = true
