// Package app is the only package that knows all others. It builds the daemon from a configuration, starts it, and stops it in
// an orderly way. It also combines the daemon and its stand-ins for the demo. It contains only this wiring.
package app
