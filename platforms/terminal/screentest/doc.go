// Package screentest is a terminal for tests: what a program writes is drawn as a terminal would, so that a test can look
// at what a person would see.
package screentest
