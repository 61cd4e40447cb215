// Package app builds the daemon from a configuration, starts it, and stops it in an orderly way. It also implements
// the subcommands, and combines the daemon with stand-ins for the demo. It is the only package that may import all
// others.
package app
