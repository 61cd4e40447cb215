// Package screentest is a terminal emulator for tests. Tests can check what a person would see on the screen.
package screentest
