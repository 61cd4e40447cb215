// Package ui is the user interface of a conversation in a terminal. [Converse] shows a conversation with a growing
// answer: it prints finished text once, into the terminal's scrollback, and redraws only the text that may still
// change. [Ask] prints one answer as plain text and never redraws printed text, so its output can be a pipe. [Chat]
// calls Ask for each line of its input; it is for terminals on which Converse can't draw.
//
// A model's text can't control the terminal: the hub's dialect cleans formatted text, and this package cleans all
// other text.
package ui
