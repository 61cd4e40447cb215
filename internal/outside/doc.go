// Package outside runs telex as operators do: it starts the built binary as a process. This process uses stand-ins of
// Telegram and of a model provider on loopback. The programs bench and killtest use the package to measure and to kill
// telex.
package outside
