// Package app is the only package that knows all others. It builds the daemon from a configuration, starts it, and
// stops it in an orderly way. It also implements the subcommands, and combines the daemon with stand-ins for the
// demo.
package app
