// Package app is the one place that knows every other package. It builds the daemon from a
// configuration, starts it, and stops it in good order; and it puts the daemon and its
// stand-ins together for the demo. It contains no logic of its own beyond the wiring.
package app
