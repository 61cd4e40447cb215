// Package agent runs one turn: it calls the model, streams what the model writes as events,
// adds up what was used, and returns the whole outcome as a Result. It does not know that
// chats exist.
package agent
