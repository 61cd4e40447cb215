// Package outside runs telex as operators do: it starts the built binary as a process. The process that runs telex uses
// stand-ins of Telegram and of a model provider on loopback. The programs bench and killtest use the package to measure
// and to kill telex.
package outside
