// Package app builds the daemon from a configuration, starts it, and stops it in an orderly way. The package also
// implements the subcommands, and combines the daemon with stand-ins for the demo. Only the package app may import all
// other packages.
package app
