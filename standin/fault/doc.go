// Package fault decides which calls to a stand-in are hit by faults, and holds calls at the moments at which a test
// kills the client.
//
// A stand-in has its own type of fault, which selects calls and says what happens to them. A Table stores such rules,
// counts calls, and returns the rule that hits. Holds manages the calls that faults hold. An Outage takes precedence
// over all faults.
package fault
