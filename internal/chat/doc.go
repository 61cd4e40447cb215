// Package chat contains the types that the gateway and the platform adapters share: ids, received messages, messages
// to send, what a platform allows, and how a call can fail. Package chat contains only small pure functions and
// imports no other package of this module.
package chat
