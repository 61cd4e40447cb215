// Package history manages the messages of a conversation, and the additions of each turn.
//
// A History is the past of a conversation as a model reads it. A Journal stores the steps of a running turn, and
// a Replay is the state that another process restores from them. The growth of a turn is what it adds at its
// end: messages, usage, and sometimes a summary that replaces older messages. People's messages carry their
// provenance.
//
// The package starts no goroutines. A Journal belongs to the goroutine that runs the model.
package history
