// Package outside runs telex as operators do: the built binary as a process, between stand-ins of Telegram and of a
// model provider on loopback. Programs that measure or kill this process use it.
package outside
