// Package history manages the messages of a conversation, and the additions of each turn.
//
// A History contains the messages of a conversation as a model reads them. A Journal stores the steps of a running
// turn. After a crash, another process reads the stored steps and restores the turn's state as a Replay. When a turn
// ends, it adds its growth to the history: messages, usage, and sometimes a summary that replaces older messages.
// Each message of a person has a provenance, which says whether the person typed the text.
//
// The package starts no goroutines. A Journal belongs to the goroutine that runs the model.
package history
