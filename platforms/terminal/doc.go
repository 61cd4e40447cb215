// Package terminal writes replies for a terminal: formatted text by ANSI escape sequences,
// and nothing of a model's text that could be one.
package terminal
