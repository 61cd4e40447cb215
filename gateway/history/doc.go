// Package history manages the messages of a conversation, and the additions of each turn.
//
// A History contains the messages of a conversation as a model reads them. A Journal stores the steps of a running turn,
// and another process restores the turn's state from them as a Replay. The growth of a turn is what it adds at its end:
// messages, usage, and sometimes a summary that replaces older messages. People's messages carry their provenance.
//
// The package starts no goroutines. A Journal belongs to the goroutine that runs the model.
package history
