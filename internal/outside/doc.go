// Package outside runs telex as operators do: the built binary in a process of its own, between stand-ins of Telegram
// and of a model provider on loopback. Programs that measure or kill it from outside are made with it.
package outside
