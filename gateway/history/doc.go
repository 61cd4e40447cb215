// Package history keeps what was said in a conversation, and what a turn adds to it.
//
// A History is what the conversation remembers, as a model reads it. A Journal stores what a turn does while it runs,
// and a Replay is what another process reads of that. A turn's growth is what it adds at its end: messages, usage, and
// perhaps a summary that stands for older messages. Words of people carry their provenance.
//
// The package has no goroutine. A Journal belongs to the goroutine that runs the model.
package history
