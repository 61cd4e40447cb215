// Package fault decides which calls to a stand-in a fault hits, and holds calls at a moment at which a test kills
// the client.
//
// A stand-in has its own kind of fault: what chooses a call, and what then happens to it, is the platform's. A Table
// keeps such rules, counts and picks the one that hits; Holds keeps the calls that a fault pauses. An Outage is
// a rule before all others.
package fault
