// Package outside runs telex as operators do: the built binary as a process, between stand-ins of Telegram and of a
// model provider on loopback. It is for programs that measure or kill that process.
package outside
