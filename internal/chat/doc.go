// Package chat holds the nouns that the gateway and the platform adapters share: ids, what
// comes in, what goes out, what a platform allows, and how a call can fail. It has no
// behaviour beyond small pure queries and imports nothing of ours.
package chat
