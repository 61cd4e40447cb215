// Package fault decides which calls to a stand-in are hit by faults, and holds calls at moments at which a test kills
// the client.
//
// A stand-in has its own type of fault, which selects calls and says what happens to them. A Table stores such rules,
// counts calls, and returns the rule that hits. Holds manages the held calls. An Outage is a rule with precedence over
// all others.
package fault
