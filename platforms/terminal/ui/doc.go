// Package ui is what a person sees of a conversation in a terminal. [Converse] is a conversation with a live answer: what
// is finished goes to the terminal's own scrollback, once, and only what may still change is drawn again. [Ask] prints
// one answer as plain text that only grows, for pipes, and [Chat] does so for one line after the other, for terminals that
// can't do more.
//
// The text of a model never drives the terminal: the hub's dialect has cleaned what is formatted, and everything else is
// cleaned here.
package ui
